//! Measurements.

mod bare;
mod calls;
mod filter;
mod isolated;
mod native;
mod request;
mod sheet;
mod soak;
mod throughput;

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use mayfly_pool::{Scheduling, choose_scheduling};
use mayfly_vmm::{Alarm, Host};

use sheet::{Format, Sheet};

/// What the command line asks for.
#[derive(Args, Debug, PartialEq, Eq)]
pub struct Options {
    /// What is measured: everything, or only the search for the slowest system calls.
    #[arg(value_enum, conflicts_with_all = ["baseline", "deno"])]
    pub only: Option<Only>,
    /// A deno binary, to measure requests to it too.
    #[arg(long, value_name = "PATH", conflicts_with = "baseline")]
    pub deno: Option<PathBuf>,
    /// A program that answers the frames of `mayfly.h`, to measure requests to it too.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["only", "baseline"])]
    pub program: Option<PathBuf>,
    /// Only the baseline of this moment.
    #[arg(long)]
    pub baseline: bool,
    /// One JSON object instead of lines for people.
    #[arg(long)]
    pub json: bool,
    /// Parts of the pool's scheduling that are used, to compare runs: all of them by default.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PARTS")]
    pub scheduling: Option<Vec<Part>>,
}

/// A part of what `bench` measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Only {
    /// The search for the slowest system calls.
    Calls,
}

/// A part of the scheduling of threads that run machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// No part.
    None,
    /// Longer time slices than other threads have.
    Slices,
    /// A short sleep now and then of a thread that computes.
    ShortSleeps,
}

impl Options {
    fn scheduling(&self) -> Scheduling {
        let Some(parts) = &self.scheduling else {
            return Scheduling::ALL;
        };
        Scheduling {
            slices: parts.contains(&Part::Slices),
            short_sleeps: parts.contains(&Part::ShortSleeps),
        }
    }
}

/// Measures the bare machine, then stock Deno where its binary is given; or the baseline alone.
pub fn bench(options: &Options) -> Result<(), Box<dyn Error>> {
    if options.scheduling.is_some() {
        choose_scheduling(options.scheduling());
    }
    let host = Arc::new(Host::open()?);
    let mut alarm = Alarm::new()?;
    let mut sheet = Sheet::new(if options.json { Format::Json } else { Format::Text });
    sheet.say(&format!("flavour {:?}", host.flavour()));
    if options.baseline {
        bare::baseline(&host, &mut alarm, &mut sheet)?;
        sheet.end();
        return Ok(());
    }
    if options.only == Some(Only::Calls) {
        calls::calls(&host, &mut alarm, &mut sheet)?;
        sheet.end();
        return Ok(());
    }
    let baseline = bare::bare(&host, &mut alarm, &mut sheet)?;
    if let Some(program) = &options.program {
        native::native(&host, &mut alarm, program, &mut sheet)?;
    }
    match &options.deno {
        Some(deno) => isolated::isolated(&host, &mut alarm, deno, baseline, &mut sheet)?,
        None => sheet.say("stock Deno: not measured, give its binary by --deno PATH"),
    }
    sheet.end();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, String> {
        crate::parse_for_tests("bench", text)
    }

    #[test]
    fn flags_come_in_any_order_and_wrong_ones_are_named() {
        let options = parse("--json --deno /a").unwrap();
        assert_eq!(options, parse("--deno /a --json").unwrap());
        assert_eq!((options.deno, options.json), (Some("/a".into()), true));
        assert!(!parse("").unwrap().json);
        assert_eq!(parse("--program /p").unwrap().program, Some("/p".into()));
        assert!(
            parse("--baseline --program /p")
                .unwrap_err()
                .contains("--program")
        );
        assert!(parse("--baseline").unwrap().baseline && !options.baseline);
        assert!(parse("--baseline --deno /a").unwrap_err().contains("--deno"));
        assert_eq!(parse("calls --json").unwrap().only, Some(Only::Calls));
        assert!(parse("calls --baseline").unwrap_err().contains("--baseline"));
        assert!(parse("--deno").unwrap_err().contains("--deno"));
        assert!(parse("--fast").unwrap_err().contains("--fast"));
    }

    #[test]
    fn parts_of_the_scheduling_are_chosen_by_name() {
        assert_eq!(parse("").unwrap().scheduling(), Scheduling::ALL);
        assert_eq!(parse("--scheduling none").unwrap().scheduling(), Scheduling::NONE);
        let slices = parse("--scheduling slices").unwrap().scheduling();
        let wanted = Scheduling {
            short_sleeps: false,
            ..Scheduling::ALL
        };
        assert_eq!(slices, wanted);
        assert!(parse("--scheduling naps").unwrap_err().contains("naps"));
    }
}
