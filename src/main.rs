//! The `linkaudit` program: parses the command line, runs the command, turns errors into one
//! sentence on stderr and a status.

use linkaudit::cli::exit::{Exit, INTERNAL};
use linkaudit::cli::{Cli, commands};
use linkaudit::text::show;
use std::io::Write as _;
use std::process::ExitCode;

/// Fresh pages cost more than anything else in a short run; this allocator reuses them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = match Cli::from_process() {
        Ok(cli) => cli,
        Err(error) => {
            // Without a terminal to tell it to, the status alone must do.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage.into() } else { Exit::Clean.into() };
        }
    };
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !linkaudit::format::second::is_reading() {
            report(panic);
        }
    }));
    match std::panic::catch_unwind(|| commands::run(cli)) {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(error)) => {
            let text = format!("{error:#}");
            let lines: Vec<String> = text.split('\n').map(|line| show(line.as_bytes())).collect();
            let _ = writeln!(std::io::stderr(), "linkaudit: {}", lines.join("\n"));
            Exit::Usage.into()
        }
        Err(_) => {
            let _ = writeln!(
                std::io::stderr(),
                "linkaudit: this is a fault of linkaudit; please report it"
            );
            ExitCode::from(INTERNAL)
        }
    }
}
