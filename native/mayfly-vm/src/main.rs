//! `mayfly-vm`: virtual machines at the command line.

mod bench;
mod doctor;
mod leak;
mod run;
mod runtimes;

use std::process::ExitCode;

const USAGE: &str = "\
usage: mayfly-vm COMMAND
  run [OPTIONS] PROGRAM ARGS   run a Linux program in a machine
      --trace-syscalls   tell every system call on the standard error
      --statistics       tell counts at the end
      --memory MIB       guest memory (1024)
      --mount PATH       a file or directory that the program may read
      --env NAME=VALUE   a variable of its environment, which is empty otherwise
  leak-check [--json]   plant secrets, reset, search everything; see leak-check --help
  doctor   say which boundary this host gives, or what is missing
  bench [--json]   measure round trip, fault, fork, reset and their floor
      --deno PATH        requests to this deno binary too
      --floor            only the floor
      calls              only a search for the slowest system calls
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("run") => match run::Options::parse(&arguments[1..]) {
            Ok(options) => report(run::run(&options)),
            Err(wrong) => {
                eprintln!("mayfly-vm: {wrong}");
                ExitCode::from(2)
            }
        },
        Some("leak-check") => match &arguments[1..] {
            [help] if help == "--help" => {
                print!("{}", leak::HELP);
                ExitCode::SUCCESS
            }
            rest => match leak::Options::parse(rest) {
                Ok(options) => leak::check(&options),
                Err(wrong) => {
                    eprintln!("mayfly-vm: {wrong}");
                    ExitCode::from(2)
                }
            },
        },
        // What this binary does when the check runs it in a machine.
        Some(leak::PLANTER) => leak::plant(),
        Some("doctor") => doctor::doctor(),
        Some("bench") => match bench::Options::parse(&arguments[1..]) {
            Ok(options) => report(bench::bench(&options).map(|()| ExitCode::SUCCESS)),
            Err(wrong) => {
                eprintln!("mayfly-vm: {wrong}");
                ExitCode::from(2)
            }
        },
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

fn report(result: Result<ExitCode, impl std::fmt::Display>) -> ExitCode {
    result.unwrap_or_else(|e| {
        eprintln!("mayfly-vm: {e}");
        ExitCode::FAILURE
    })
}
