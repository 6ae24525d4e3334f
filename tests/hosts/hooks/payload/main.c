int demo_create(void);
int demo_version(void);

int main(int argc, char **argv) {
  (void)argv;
  return argc > 1 ? demo_create() : demo_version() - 1;
}
