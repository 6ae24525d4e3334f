//! The `linkaudit` program: parses the command line, runs the command, and turns an error into a
//! message on stderr and an exit status.

use linkaudit::cli::exit::{Exit, INTERNAL};
use linkaudit::cli::{AnswerKind, Cli, commands, message};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// mimalloc reuses pages: first-touch page faults are the largest avoidable cost of a short run.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// True if stdout was closed when the process began.
static STDOUT_IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Checks stdout before Rust's runtime starts. If stdout is closed, the runtime opens /dev/null in
/// its place; the report would then be lost silently. `.init_array` is the ABI's table of functions
/// that run before `main` (System V gABI, Initialization and Termination Functions).
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "nothing safe runs before the runtime; see SAFETY")]
mod before_main {
    // SAFETY: the section holds pointers to functions, and this static is one. libc passes
    // arguments, which a function of the C ABI may ignore. The function makes one system call and
    // stores one atomic: it does not depend on the runtime, and it cannot unwind.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static NOTE: extern "C" fn() = note;

    extern "C" fn note() {
        let flags = rustix::io::fcntl_getfd(rustix::stdio::stdout());
        super::STDOUT_IS_CLOSED.store(flags.is_err(), super::Ordering::Relaxed);
    }
}

fn main() -> ExitCode {
    let cli = match Cli::from_process() {
        Ok(cli) => cli,
        Err(answer) => {
            answer.print();
            let is_requested = answer.kind == AnswerKind::Requested;
            return if is_requested { Exit::Clean.into() } else { Exit::Usage.into() };
        }
    };
    if STDOUT_IS_CLOSED.load(Ordering::Relaxed) {
        message::error(
            "stdout is closed\nhelp: write the report to a file: linkaudit PATH > report.txt",
        );
        return Exit::Usage.into();
    }
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !linkaudit::format::cross_check::is_reading() {
            report(panic);
        }
    }));
    match std::panic::catch_unwind(|| commands::run(cli)) {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(error)) => {
            message::error(&message::of(&error));
            Exit::Usage.into()
        }
        Err(_) => {
            message::error("internal error\nhelp: this is a bug in linkaudit: please report it");
            ExitCode::from(INTERNAL)
        }
    }
}
