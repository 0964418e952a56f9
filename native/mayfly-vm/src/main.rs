//! `mayfly-vm`: virtual machines at the command line.

mod bench;
mod doctor;
mod leak;
mod run;
mod runtimes;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Virtual machines at the command line.
#[derive(Debug, Parser)]
#[command(name = "mayfly-vm", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a Linux program in a machine.
    Run(run::Options),
    /// Plant secrets, reset, search everything.
    LeakCheck(leak::Options),
    /// Say which boundary this host gives, or what is missing.
    Doctor,
    /// Measure round trip, fault, fork, reset and their baseline.
    Bench(bench::Options),
}

fn main() -> ExitCode {
    // What this binary does when the leak check runs it in a machine.
    if std::env::args().nth(1).as_deref() == Some(leak::PLANTER) {
        return leak::plant();
    }
    match Arguments::parse().command {
        Command::Run(options) => report(run::run(&options)),
        Command::LeakCheck(options) => leak::check(&options),
        Command::Doctor => doctor::doctor(),
        Command::Bench(options) => report(bench::bench(&options).map(|()| ExitCode::SUCCESS)),
    }
}

fn report(result: Result<ExitCode, impl std::fmt::Display>) -> ExitCode {
    result.unwrap_or_else(|e| {
        eprintln!("mayfly-vm: {e}");
        ExitCode::FAILURE
    })
}

/// The options behind a command, or what is wrong with them.
#[cfg(test)]
fn parse_for_tests<O: clap::Args>(name: &'static str, text: &str) -> Result<O, String> {
    let command = O::augment_args(clap::Command::new(name));
    let words = std::iter::once(name).chain(text.split_whitespace());
    let found = command.try_get_matches_from(words).map_err(|e| e.to_string())?;
    O::from_arg_matches(&found).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn a_command_is_wanted_and_a_wrong_one_is_named() {
        let parse = |text: &str| Arguments::try_parse_from(text.split_whitespace());
        assert!(parse("mayfly-vm").is_err());
        let wrong = parse("mayfly-vm walk").unwrap_err().to_string();
        assert!(wrong.contains("walk"), "{wrong}");
        assert!(matches!(
            parse("mayfly-vm doctor").unwrap().command,
            Command::Doctor
        ));
    }
}
