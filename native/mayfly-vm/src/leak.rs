//! `leak-check`: whether anything of a request is left after the reset.
//!
//! ```text
//! plant a fresh secret in every place -> see each there -> reset -> search frames, registers, tables
//!                                                               -> compare all with the snapshot
//!                                                               -> let the next request search and ask
//! ```
//!
//! Then the same with each step of the reset left out in turn, which must be noticed: a check that cannot fail is none.

mod evidence;
mod guest;
mod places;
mod planter;
mod protocol;
mod report;
mod secrets;
mod trial;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use mayfly_pool::LeftOut;
use mayfly_vmm::{Flush, Host, ResetStep, Unreachable};

pub use guest::serve as plant;
use planter::Planter;
use protocol::Ending;
use report::Report;
use trial::{Reset, Trial};

/// The hidden command under which this binary runs in the machine.
pub const PLANTER: &str = "leak-plant";

/// Plants a fresh random secret in every place that a request can reach (memory, registers, the tables behind its system calls),
/// sees each of them there, resets the machine as after every request, and searches every byte of guest memory, the saved registers
/// and all tables. Everything is compared with the snapshot too, and the next request searches from inside. Requests end by a fault,
/// by their deadline and by their answer.
///
/// Then each step of the reset is left out in turn: that must be noticed, or the check could not fail.
///
/// Ends with 0 when nothing was left and every broken reset was noticed, with 1 otherwise, with 2 where it cannot run.
#[derive(Args, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// One JSON object instead of tables.
    #[arg(long)]
    json: bool,
    /// Only see one broken reset fail; `list` names the steps.
    #[arg(long, value_name = "STEP", value_parser = Without::parse)]
    without: Option<Without>,
}

/// What `--without` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Without {
    /// The names of all.
    List,
    Step(Broken),
}

impl Without {
    fn parse(name: &str) -> Result<Without, String> {
        if name == "list" {
            return Ok(Without::List);
        }
        let found = Broken::all().find(|broken| broken.name() == name);
        let wrong = || format!("--without: {name}, want one of those that --without list names");
        found.map(Without::Step).ok_or_else(wrong)
    }
}

/// A reset that is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A step is left out.
    LeftOut(LeftOut),
    /// The host writes what no program can, and no reset puts back.
    Written(Unreachable),
}

/// The step whose absence may stay unseen.
const NO_FLUSH: Broken = Broken::LeftOut(LeftOut::Machine(ResetStep::Flush));
/// How often a reset without it is tried.
const FLUSH_TRIES: u32 = 12;

impl Broken {
    /// All of them.
    fn all() -> impl Iterator<Item = Broken> {
        let written = [Unreachable::DebugRegister, Unreachable::Msr];
        LeftOut::all()
            .map(Broken::LeftOut)
            .chain(written.into_iter().map(Broken::Written))
    }

    /// Its name on the command line.
    fn name(self) -> String {
        match self {
            Broken::LeftOut(LeftOut::Machine(step)) => format!("machine:{step:?}"),
            Broken::LeftOut(LeftOut::Kernel(step)) => format!("kernel:{step:?}"),
            Broken::Written(what) => format!("host-writes:{what:?}"),
        }
    }

    /// Sees this reset fail. An old translation stays only until the host has a reason of its own to drop it, such as moving
    /// the thread to another CPU: that is tried some times.
    fn trial(self, planter: &mut Planter) -> planter::Result<Trial> {
        let reset = match self {
            Broken::LeftOut(step) => Reset::Without(step),
            Broken::Written(what) => Reset::ThenWrite(what),
        };
        let mut trial = planter.trial(Ending::Fault, reset)?;
        let mut tries = if self == NO_FLUSH { FLUSH_TRIES } else { 1 };
        while trial.is_clean() && tries > 1 {
            trial = planter.trial(Ending::Fault, reset)?;
            tries -= 1;
        }
        Ok(trial)
    }
}

/// Runs the check and prints what it found.
pub fn check(options: &Options) -> ExitCode {
    if options.without == Some(Without::List) {
        Broken::all().for_each(|broken| println!("{}", broken.name()));
        return ExitCode::SUCCESS;
    }
    match run(options) {
        Ok(report) => {
            print!(
                "{}",
                if options.json {
                    report.json()
                } else {
                    report.text()
                }
            );
            if report.is_clean() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(e) => {
            eprintln!("mayfly-vm: leak-check: {e}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> planter::Result<Report> {
    let host = Arc::new(Host::open()?);
    let mut planter = Planter::start(&host)?;
    let mut report = Report::new(host.flavour());
    if let Some(Without::Step(broken)) = options.without {
        report.add(Ending::Fault, broken.trial(&mut planter)?);
        return Ok(report);
    }
    for ending in [Ending::Fault, Ending::Deadline, Ending::Answer] {
        report.add(ending, planter.trial(ending, Reset::Whole)?);
    }
    report.forbidden = planter.forbidden()?;
    for broken in Broken::all() {
        let trial = broken.trial(&mut planter)?;
        // Where a processor (or its emulator) drops all translations at every exit, a missing flush changes nothing.
        let may_hide = broken == NO_FLUSH && host.flavour().flush == Flush::ReloadCr3;
        report.add_broken(broken, &trial, may_hide);
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, String> {
        crate::parse_for_tests("leak-check", text)
    }

    #[test]
    fn every_broken_reset_has_a_name_that_parses() {
        for broken in Broken::all() {
            let options = parse(&format!("--json --without {}", broken.name())).unwrap();
            assert_eq!(
                (options.json, options.without),
                (true, Some(Without::Step(broken)))
            );
        }
        assert_eq!(parse("--without list").unwrap().without, Some(Without::List));
        assert!(parse("--without pages").unwrap_err().contains("--without: pages"));
        assert!(parse("--all").unwrap_err().contains("--all"));
    }
}
