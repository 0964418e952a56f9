//! The configuration file: the options of `mayfly serve` by their names, read as if they stood before those of the command line.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args, Command};
use toml::{Table, Value};

/// The program and its arguments, in a file.
const PROGRAM: &str = "run";
/// A snapshot's file, in a file.
const SNAPSHOT: &str = "snaprun";

/// Options of the boot that a program in a file needs again: what it writes on the host, and connects to.
const AGAIN: [&str; 5] = [
    "allow_connect",
    "allow_write",
    "max_write",
    "max_write_files",
    "volumes",
];

/// The first option of the boot that the command line of `serve` has: a program that is in a file has booted.
pub fn boot_option(serve: &ArgMatches) -> Option<String> {
    let boot = <crate::options::Boot as Args>::augment_args(Command::new("boot"));
    let named = |argument: &clap::Arg| {
        let id = argument.get_id().as_str();
        let told = serve.value_source(id) == Some(ValueSource::CommandLine) && !AGAIN.contains(&id);
        told.then(|| argument.get_long().unwrap_or(id).to_owned())
    };
    boot.get_arguments().find_map(named)
}

/// Arguments, with those of the file that they name by `--config` in their places.
///
/// # Errors
/// The file cannot be read, is no TOML, or has a value that is no option's.
pub fn with_file(arguments: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let Some(path) = named(&arguments) else {
        return Ok(arguments);
    };
    let wrong = |why: String| format!("--config {}: {why}", path.display());
    let text = std::fs::read_to_string(&path).map_err(|e| wrong(e.to_string()))?;
    let (options, program) = read(&text).map_err(wrong)?;
    let mut all: Vec<OsString> = arguments.iter().take(2).cloned().collect();
    all.extend(options.into_iter().map(OsString::from));
    all.extend(arguments.iter().skip(2).cloned());
    if !arguments
        .iter()
        .any(|argument| argument == PROGRAM || argument == SNAPSHOT)
    {
        all.extend(program.into_iter().flatten().map(OsString::from));
    }
    Ok(all)
}

/// The file that the options of `serve` name.
fn named(arguments: &[OsString]) -> Option<std::path::PathBuf> {
    if arguments.get(1).map(OsString::as_os_str) != Some(OsStr::new("serve")) {
        return None;
    }
    let mut options = arguments
        .iter()
        .skip(2)
        .take_while(|argument| *argument != PROGRAM && *argument != SNAPSHOT);
    while let Some(option) = options.next() {
        if option == "--config" {
            return options.next().map(Into::into);
        }
        if let Some(path) = option.to_str().and_then(|text| text.strip_prefix("--config=")) {
            return Some(path.into());
        }
    }
    None
}

/// Options as on a command line, and the program.
type Read = (Vec<String>, Option<Vec<String>>);

fn read(text: &str) -> Result<Read, String> {
    let table: Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
    let (mut options, mut program) = (Vec::new(), None);
    for (name, value) in &table {
        let several = match value {
            Value::Array(values) => values
                .iter()
                .map(|value| one(name, value))
                .collect::<Result<_, _>>()?,
            Value::Boolean(true) => {
                options.push(format!("--{name}"));
                continue;
            }
            Value::Boolean(false) => continue,
            value => vec![one(name, value)?],
        };
        match name.as_str() {
            PROGRAM | SNAPSHOT if program.is_some() => {
                return Err(format!("{PROGRAM} and {SNAPSHOT} are there, want one of them"));
            }
            PROGRAM | SNAPSHOT => {
                program = Some([vec![name.clone()], several].concat());
            }
            _ => options.extend(several.into_iter().map(|value| format!("--{name}={value}"))),
        }
    }
    Ok((options, program))
}

fn one(name: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        other => Err(format!(
            "{name} is a {}, want a string, a number, true or false, or several strings",
            other.type_str()
        )),
    }
}

/// What was asked for as a file that says the same. `command` is that of `serve`, `matches` what it was given.
pub fn to_text(command: &Command, matches: &ArgMatches) -> String {
    let mut text = String::new();
    for argument in command.get_arguments() {
        let (Some(name), id) = (argument.get_long(), argument.get_id().as_str()) else {
            continue;
        };
        if ["config", "print-config", "help", "version"].contains(&name) {
            continue;
        }
        let values = || {
            matches
                .get_raw(id)
                .into_iter()
                .flatten()
                .map(OsStr::to_string_lossy)
        };
        // Writing to a string does not fail.
        let _ = match argument.get_action() {
            ArgAction::SetTrue => writeln!(text, "{name} = {}", matches.get_flag(id)),
            ArgAction::Append => writeln!(text, "{name} = {}", quoted(values())),
            _ => values().try_for_each(|value| match value.parse::<f64>() {
                Ok(_) => writeln!(text, "{name} = {value}"),
                Err(_) => writeln!(text, "{name} = {}", serde_json::json!(value)),
            }),
        };
    }
    let _ = match matches.subcommand() {
        Some((SNAPSHOT, told)) => {
            let files = told.get_raw("file").into_iter().flatten();
            writeln!(text, "{SNAPSHOT} = {}", quoted(files.map(OsStr::to_string_lossy)))
        }
        Some((_, told)) => {
            let words = told.get_raw("command").into_iter().flatten();
            writeln!(text, "{PROGRAM} = {}", quoted(words.map(OsStr::to_string_lossy)))
        }
        None => Ok(()),
    };
    text
}

/// Strings as TOML has them; JSON's are the same.
fn quoted<S: AsRef<str>>(values: impl Iterator<Item = S>) -> String {
    let values: Vec<String> = values
        .map(|value| serde_json::json!(value.as_ref()).to_string())
        .collect();
    format!("[{}]", values.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn text_of(arguments: &[String]) -> String {
        let mut command = crate::options::Arguments::command();
        let matches = command.clone().try_get_matches_from(arguments).unwrap();
        let serve = command.find_subcommand_mut("serve").unwrap();
        to_text(serve, matches.subcommand_matches("serve").unwrap())
    }

    #[test]
    fn what_is_printed_reads_as_it_was() {
        let line = "mayfly serve -e -t 3 --listen unix:/a --max-request-time 0.5 --allow-read /x,/y --allow-connect DB:5432,[::1]:80-90 --env A=1 --env B=\"2 run node a.js --env C";
        let first = text_of(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for wanted in [
            "ephemeral = true",
            "threads = 3",
            "max-request-time = 0.5",
            "allow-read = [\"/x\", \"/y\"]",
            "allow-connect = [\"DB:5432\", \"[::1]:80-90\"]",
            "env = [\"A=1\", \"B=\\\"2\"]",
            "run = [\"node\", \"a.js\", \"--env\", \"C\"]",
        ] {
            assert!(first.lines().any(|line| line == wanted), "{wanted}\n{first}");
        }
        assert_eq!(text_of(&line_of(&first)), first);
        let line = "mayfly serve -e snaprun /var/app.snap"
            .split(' ')
            .map(str::to_owned);
        let second = text_of(&line.collect::<Vec<_>>());
        assert!(second.ends_with("\nsnaprun = [\"/var/app.snap\"]\n"), "{second}");
        // The options of the boot have their defaults.
        let line = line_of(&second);
        assert_eq!(line[line.len() - 2..], ["snaprun", "/var/app.snap"]);
    }

    fn line_of(text: &str) -> Vec<String> {
        let (options, program) = read(text).unwrap();
        let start = ["mayfly", "serve"].map(str::to_owned).to_vec();
        [start, options, program.unwrap()].concat()
    }

    #[test]
    fn options_of_the_boot_are_told_from_those_of_the_service() {
        let named = |line: &str| {
            let matches = crate::options::Arguments::command()
                .try_get_matches_from(line.split_whitespace())
                .unwrap();
            boot_option(matches.subcommand_matches("serve").unwrap())
        };
        assert_eq!(named("mayfly serve -e -t 3 --quiet snaprun a"), None);
        assert_eq!(
            named("mayfly serve --volume /a:/b:rw --allow-write /c --allow-connect d:1 snaprun a"),
            None
        );
        assert_eq!(
            named("mayfly serve --allow-read /a snaprun a").as_deref(),
            Some("allow-read")
        );
        assert_eq!(named("mayfly serve -w 3 snaprun a").as_deref(), Some("warmup"));
    }

    #[test]
    fn the_command_line_goes_before_the_file() {
        let path = std::env::temp_dir().join(format!("mayfly-config-{}.toml", std::process::id()));
        std::fs::write(
            &path,
            "threads = 3\nqueue = 5\nephemeral = true\nrun = [\"node\", \"a.js\"]\n",
        )
        .unwrap();
        let line = |rest: &str| {
            let line = format!("mayfly serve --config {} {rest}", path.display());
            let words = line.split_whitespace().map(OsString::from).collect();
            let all = with_file(words).unwrap();
            text_of(
                &all.into_iter()
                    .map(|word| word.into_string().unwrap())
                    .collect::<Vec<_>>(),
            )
        };
        let both = line("--threads 4");
        assert!(
            both.contains("threads = 4\n") && both.contains("queue = 5\n"),
            "{both}"
        );
        assert!(both.contains("run = [\"node\", \"a.js\"]"), "{both}");
        let other = line("run go --config x");
        assert!(other.contains("run = [\"go\", \"--config\", \"x\"]"), "{other}");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_is_no_option_is_told() {
        for (text, said) in [
            ("threads = [", "TOML"),
            ("[threads]\na = 1", "threads is a table"),
            ("env = [[1]]", "env is a array"),
        ] {
            let why = read(text).unwrap_err();
            assert!(why.contains(said) || said == "TOML", "{text}: {why}");
        }
    }
}
