//! Runs one program in a machine, as a shell would run it on the host.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use mayfly_linux::action::Action;
use mayfly_linux::fs::stdio::OutputMode;
use mayfly_linux::kernel::Kernel;
use mayfly_pool::{Deadlines, Event, Running, Spec};
use mayfly_vmm::{Alarm, Host};

/// What the command line asks for.
#[derive(Args, Debug, PartialEq, Eq)]
pub struct Options {
    /// Tell every system call on the standard error.
    #[arg(long = "trace-syscalls")]
    pub trace: bool,
    /// Tell counts at the end.
    #[arg(long)]
    pub statistics: bool,
    /// Guest memory in MiB, 1024 by default.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=65536))]
    pub memory: Option<u64>,
    /// A file or directory that the program may read.
    #[arg(long = "mount", value_name = "PATH")]
    pub mounts: Vec<String>,
    /// A variable of its environment, which is empty otherwise.
    #[arg(long = "env", value_name = "NAME=VALUE")]
    pub environment: Vec<String>,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM ARGS")]
    pub command: Vec<String>,
}

/// Runs it. The exit status is the program's, or 128 and its signal.
pub fn run(options: &Options) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let host = Arc::new(Host::open()?);
    let mut spec = Spec::command(options.command[0].as_ref(), &options.command)?;
    for mount in &options.mounts {
        spec.show(mount.as_ref())?;
    }
    spec.environment.clone_from(&options.environment);
    spec.limits.memory_bytes = options.memory.unwrap_or(1024) << 20;
    spec.limits.output_bytes = 64 << 20;
    spec.limits.log_bytes = 1 << 20;
    let mut running = Running::start(&host, &spec, OutputMode::Stream, false)?;
    if options.trace {
        running.trace = Some(tell);
    }
    let status = drive(&mut running)?;
    if options.statistics {
        let s = &running.kernel.statistics;
        eprintln!(
            "exits {}, calls {}, faults {}, switches {}, signals {}",
            running.exits, s.calls, s.faults, s.switches, s.signals
        );
        eprintln!("memory {} KiB", running.guest.vm().space().used_bytes() >> 10);
        for (number, count) in &s.unknown {
            eprintln!("unknown system call {number}: {count} times");
        }
    }
    Ok(ExitCode::from(status))
}

fn drive(running: &mut Running) -> Result<u8, Box<dyn std::error::Error>> {
    let mut alarm = Alarm::new()?;
    let mut action = Action::Resume;
    loop {
        let event = running.run(action, &mut alarm, Deadlines::at(u64::MAX))?;
        flush(running)?;
        let Event::Action(wanted) = event else {
            return Err("the end of time was reached".into());
        };
        action = match wanted {
            Action::Resume | Action::Output | Action::Frame | Action::Said | Action::Connection => {
                Action::Resume
            }
            Action::Idle { .. } => {
                let mut bytes = vec![0; 64 << 10];
                let n = io::stdin().read(&mut bytes)?;
                bytes.truncate(n);
                if n == 0 {
                    running.kernel.end_input();
                } else {
                    running.kernel.push_input(bytes);
                }
                running.kernel.run(&mut running.guest)
            }
            Action::Wait { wait } => {
                std::thread::sleep(Duration::from_nanos(wait));
                running.kernel.run(&mut running.guest)
            }
            Action::Deadlock => return Err("all threads wait for each other".into()),
            Action::Stop(stop) => {
                if !matches!(stop, mayfly_linux::action::Stop::Exit(_)) {
                    eprintln!("mayfly-vm: the program ended: {stop:?}");
                }
                return Ok(stop.status());
            }
        };
    }
}

/// Passes on what the program wrote.
fn flush(running: &mut Running) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(&running.kernel.take_output())?;
    output.flush()?;
    io::stderr().write_all(&running.kernel.take_log())
}

fn tell(number: u64, a: [u64; 6], _: &Kernel) {
    let unknown = format!("call {number}");
    let name = mayfly_linux::syscall::number::name(number).unwrap_or(&unknown);
    eprintln!(
        "{name}({:#x}, {:#x}, {:#x}, {:#x}, {:#x}, {:#x})",
        a[0], a[1], a[2], a[3], a[4], a[5]
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, String> {
        crate::parse_for_tests("run", text)
    }

    #[test]
    fn options_end_at_the_program() {
        let o = parse("--trace-syscalls --memory 64 --mount /a --env A=b prog --memory x").unwrap();
        assert!(o.trace && !o.statistics);
        assert_eq!(
            (o.memory, o.mounts, o.environment),
            (Some(64), vec!["/a".into()], vec!["A=b".into()])
        );
        assert_eq!(o.command, ["prog", "--memory", "x"]);
    }

    #[test]
    fn wrong_options_are_named() {
        assert!(parse("").unwrap_err().contains("PROGRAM ARGS"));
        assert!(parse("--memory 0 a").unwrap_err().contains("--memory"));
        assert!(parse("--mount").unwrap_err().contains("--mount"));
        assert!(parse("--nonsense a").unwrap_err().contains("--nonsense"));
    }
}
