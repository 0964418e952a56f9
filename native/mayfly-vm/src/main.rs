//! `mayfly-vm`: virtual machines at the command line.

mod bench;
mod doctor;

use std::process::ExitCode;

const USAGE: &str = "\
usage: mayfly-vm COMMAND
  doctor   say which boundary this machine gives, or what is missing
  bench    measure round trip, fault, fork, reset and their floor
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("doctor") => doctor::doctor(),
        Some("bench") => report(bench::bench()),
        Some("help" | "--help" | "-h") => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        Some(_) | None => {
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn report(result: mayfly_vmm::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("mayfly-vm: {e}");
            ExitCode::FAILURE
        }
    }
}
