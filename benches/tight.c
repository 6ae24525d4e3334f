/* Minimal programs with which the measurements compare linkaudit. No package has them.
 *
 * heads THREADS LIST: opens every file of LIST, reads 20 bytes and closes it. A tool that finds ELF
 * files must do at least this.
 *
 * trace JOBS LIST: runs the dynamic loader itself for every file of LIST, in the mode in which
 * `ldd -r` runs it, without ldd's shell script. LIST has the loader before each file.
 *
 * Lists are NUL-separated. `trace` replaces xargs, because LD_TRACE_LOADED_OBJECTS in the environment
 * of xargs would put xargs itself into trace mode.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char **names;
static long count;
static atomic_long next_name, elf_files;

static void die(const char *what) {
    perror(what);
    exit(1);
}

static void read_list(const char *path) {
    struct stat st;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0) die(path);
    char *text = malloc(st.st_size + 1);
    for (long at = 0, n; at < st.st_size; at += n)
        if ((n = read(fd, text + at, st.st_size - at)) <= 0) die(path);
    close(fd);
    for (long at = 0; at < st.st_size; at++) count += text[at] == 0;
    names = malloc((count + 1) * sizeof *names);
    for (long i = 0; i < count; i++) {
        names[i] = text;
        text += strlen(text) + 1;
    }
}

static void *heads(void *unused) {
    char head[20];
    (void)unused;
    for (long i; (i = atomic_fetch_add(&next_name, 1)) < count;) {
        int fd = open(names[i], O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0) continue;
        if (pread(fd, head, sizeof head, 0) > 4 && !memcmp(head, "\177ELF", 4))
            atomic_fetch_add(&elf_files, 1);
        close(fd);
    }
    return 0;
}

static void trace(int jobs) {
    static char *environment[] = {"LC_ALL=C", "LD_TRACE_LOADED_OBJECTS=1", "LD_WARN=yes",
                                  "LD_BIND_NOW=yes", "LD_LIBRARY_VERSION=", "LD_VERBOSE=", 0};
    int running = 0;
    for (long i = 0; i + 1 < count; i += 2) {
        char *arguments[] = {names[i], names[i + 1], 0};
        pid_t child;
        if (running == jobs && wait(0) > 0) running--;
        if (posix_spawn(&child, names[i], 0, 0, arguments, environment) != 0) die(names[i]);
        running++;
    }
    while (wait(0) > 0) {
    }
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fputs("usage: tight heads|trace N LIST\n", stderr);
        return 2;
    }
    int n = atoi(argv[2]);
    read_list(argv[3]);
    if (!strcmp(argv[1], "trace")) {
        trace(n);
        return 0;
    }
    pthread_t threads[64];
    if (n < 1 || n > 64) die("threads");
    for (int i = 1; i < n; i++) pthread_create(&threads[i], 0, heads, 0);
    heads(0);
    for (int i = 1; i < n; i++) pthread_join(threads[i], 0);
    printf("%ld of %ld files are ELF\n", (long)elf_files, count);
    return 0;
}
