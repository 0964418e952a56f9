//! Measurements.

mod bare;
mod calls;
mod filter;
mod isolated;
mod request;
mod sheet;
mod soak;
mod throughput;

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use mayfly_vmm::{Alarm, Host};

pub use sheet::Format;
use sheet::Sheet;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// Its binary, to measure requests too.
    pub deno: Option<PathBuf>,
    /// Only the floor of this moment.
    pub floor: bool,
    /// Only the search for the slowest system calls.
    pub calls: bool,
    /// How the results leave.
    pub format: Format,
}

impl Options {
    /// Reads the arguments behind `bench`.
    pub fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options {
            deno: None,
            floor: false,
            calls: false,
            format: Format::Text,
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--json" => options.format = Format::Json,
                "--floor" => options.floor = true,
                "calls" => options.calls = true,
                "--deno" => {
                    let path = rest.next().ok_or("bench: --deno: no path, want one")?;
                    options.deno = Some(path.into());
                }
                other => {
                    return Err(format!(
                        "bench: {other}: unknown, want calls, --deno PATH, --floor or --json"
                    ));
                }
            }
        }
        if options.floor && options.deno.is_some() {
            return Err("bench: --floor beside --deno: the floor needs no binary, want one of them".into());
        }
        if options.calls && (options.floor || options.deno.is_some()) {
            return Err("bench: calls beside --floor or --deno, want one of them".into());
        }
        Ok(options)
    }
}

/// Measures the bare machine, then stock Deno where its binary is given; or the floor alone.
pub fn bench(options: &Options) -> Result<(), Box<dyn Error>> {
    let host = Arc::new(Host::open()?);
    let mut alarm = Alarm::new()?;
    let mut sheet = Sheet::new(options.format);
    sheet.say(&format!("flavour {:?}", host.flavour()));
    if options.floor {
        bare::floor(&host, &mut alarm, &mut sheet)?;
        sheet.end();
        return Ok(());
    }
    if options.calls {
        calls::calls(&host, &mut alarm, &mut sheet)?;
        sheet.end();
        return Ok(());
    }
    let floor = bare::bare(&host, &mut alarm, &mut sheet)?;
    match &options.deno {
        Some(deno) => isolated::isolated(&host, &mut alarm, deno, floor, &mut sheet)?,
        None => sheet.say("stock Deno: not measured, give its binary by --deno PATH"),
    }
    sheet.end();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, String> {
        Options::parse(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn flags_come_in_any_order_and_wrong_ones_are_named() {
        let options = parse("--json --deno /a").unwrap();
        assert_eq!(options, parse("--deno /a --json").unwrap());
        assert_eq!((options.deno, options.format), (Some("/a".into()), Format::Json));
        assert_eq!(parse("").unwrap().format, Format::Text);
        assert!(parse("--floor").unwrap().floor && !options.floor);
        assert!(parse("--floor --deno /a").unwrap_err().contains("one of them"));
        assert!(parse("calls --json").unwrap().calls && !options.calls);
        assert!(parse("calls --floor").unwrap_err().contains("one of them"));
        assert!(parse("--deno").unwrap_err().contains("no path"));
        assert!(parse("--fast").unwrap_err().contains("--fast"));
    }
}
