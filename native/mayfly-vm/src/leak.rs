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

use mayfly_pool::LeftOut;
use mayfly_vmm::{Flush, Host, ResetStep, Unreachable};

pub use guest::serve as plant;
use planter::Planter;
use protocol::Ending;
use report::Report;
use trial::{Reset, Trial};

/// The hidden command under which this binary runs in the machine.
pub const PLANTER: &str = "leak-plant";

/// What `leak-check --help` says.
pub const HELP: &str = "\
usage: mayfly-vm leak-check [--json] [--without STEP]
  Plants a fresh random secret in every place that a request can reach (memory, registers, the tables behind its
  system calls), sees each of them there, resets the machine as after every request, and searches every byte of guest
  memory, the saved registers and all tables. Everything is compared with the snapshot too, and the next request
  searches from inside. Requests end by a fault, by their deadline and by their answer.
  Then each step of the reset is left out in turn: that must be noticed, or the check could not fail.
  --json           one JSON object instead of tables
  --without STEP   only see one broken reset fail; --without list names the steps
Ends with 0 when nothing was left and every broken reset was noticed, with 1 otherwise, with 2 where it cannot run.
";

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    json: bool,
    without: Option<Broken>,
    list: bool,
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

impl Options {
    /// Reads the arguments behind `leak-check`.
    pub fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--json" => options.json = true,
                "--without" => {
                    let name = rest.next().ok_or("--without: no value, want a step or list")?;
                    options.list = name == "list";
                    options.without = Broken::all().find(|b| b.name() == *name);
                    if options.without.is_none() && !options.list {
                        return Err(format!(
                            "--without: {name}, want one of those that --without list names"
                        ));
                    }
                }
                other => return Err(format!("leak-check: {other}, want --json, --without or nothing")),
            }
        }
        Ok(options)
    }
}

/// Runs the check and prints what it found.
pub fn check(options: &Options) -> ExitCode {
    if options.list {
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
    if let Some(broken) = options.without {
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
        Options::parse(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn every_broken_reset_has_a_name_that_parses() {
        for broken in Broken::all() {
            let options = parse(&format!("--json --without {}", broken.name())).unwrap();
            assert_eq!((options.json, options.without), (true, Some(broken)));
        }
        assert!(parse("--without list").unwrap().list);
        assert!(parse("--without pages").unwrap_err().contains("--without: pages"));
        assert!(parse("--all").unwrap_err().contains("--all"));
    }
}
