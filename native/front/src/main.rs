//! The command `mayfly`: unmodified servers in virtual machines.

mod config;
mod options;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory, FromArgMatches};
use mayfly_front::admin;
use mayfly_front::answer::Http;
use mayfly_front::descriptors;
use mayfly_front::front::{ClientLimits, Counts, Front, UPLOADS_SHARE};
use mayfly_front::machines::{Machines, Running};
use mayfly_front::outgoing::{Bounds, Outgoing};
use mayfly_front::raw::Raw;
use mayfly_front::server::serve;
use mayfly_front::tls;
use mayfly_front::words::Words;
use mayfly_pool::{Limits, Mount, Opening, Program, Protocol, Serving, Spec};
use mayfly_vmm::Host;
use options::{Arguments, Boot, Command, Line, Run, Serve, Served, Snapshot};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};

/// The status for a command line that is none, as clap has it.
const WRONG_USE: u8 = 2;

/// An error for the person at the command line.
type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let arguments = match config::with_file(std::env::args_os().collect()) {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!("mayfly: {why}");
            return ExitCode::from(WRONG_USE);
        }
    };
    let mut command = Arguments::command();
    let matches = command.clone().get_matches_from(arguments);
    let parsed = Arguments::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
    let done = match &parsed.command {
        Command::Serve(options) if options.print_config => print_config(&mut command, &matches),
        Command::Serve(options) => serve_program(options, &matches),
        Command::Snapshot(options) => snapshot(options, &mut command, &matches),
        Command::Completions { shell } => {
            clap_complete::generate(*shell, &mut command, "mayfly", &mut std::io::stdout());
            Ok(())
        }
        Command::Man => manual(&mut command),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("mayfly: {e}");
            ExitCode::FAILURE
        }
    }
}

/// The command of this name.
fn named<'a>(command: &'a mut clap::Command, name: &str) -> Result<&'a mut clap::Command, Failure> {
    command.build();
    let found = command.find_subcommand_mut(name);
    found.ok_or_else(|| format!("there is no command {name}").into())
}

fn print_config(command: &mut clap::Command, matches: &clap::ArgMatches) -> Result<(), Failure> {
    let serve = named(command, "serve")?;
    if let Some(matches) = matches.subcommand_matches("serve") {
        print!("{}", config::to_text(serve, matches));
    }
    Ok(())
}

fn manual(command: &mut clap::Command) -> Result<(), Failure> {
    let serve = named(command, "serve")?.clone();
    Ok(clap_mangen::Man::new(serve).render(&mut std::io::stdout())?)
}

/// Boots a program and writes it to a file, with what it was told beside.
fn snapshot(
    options: &Snapshot,
    command: &mut clap::Command,
    matches: &clap::ArgMatches,
) -> Result<(), Failure> {
    let host = Arc::new(Host::open()?);
    let Run::Run(Line { command: line }) = &options.program;
    let outgoing = Outgoing::start(options.boot.allow_connect.clone(), Bounds::default())?;
    let serving = serving(&options.boot, options.max_request_time, false, &outgoing);
    let spec = spec(&options.boot, line, &outgoing)?;
    let (program, traces) = Program::boot_server(&host, &spec, &serving).map_err(|e| e.to_string())?;
    Words::new(true).tell(&traces);
    tell_boot(&program);
    let told = matches.subcommand_matches("snapshot");
    let notes = match told {
        Some(told) => config::to_text(named(command, "snapshot")?, told),
        None => String::new(),
    };
    let notes = notes + &outgoing.notes();
    program.save(&options.output, notes.as_bytes(), None)?;
    let bytes = std::fs::metadata(&options.output)?.len();
    eprintln!("mayfly: wrote {}, {} KiB", options.output.display(), bytes >> 10);
    Ok(())
}

fn tell_boot(program: &Program) {
    let report = program.report();
    eprintln!(
        "mayfly: booted in {} ms, warmed up by {} requests in {} ms, {} MiB",
        report.boot_ns / 1_000_000,
        report.warmup_requests,
        report.warmup_ns / 1_000_000,
        report.memory_bytes >> 20
    );
}

/// The program that is served: booted, or from a file, whose own are the options of the boot.
fn program(
    host: &Arc<Host>,
    options: &Serve,
    outgoing: &Arc<Outgoing>,
    words: &Words,
    matches: &clap::ArgMatches,
) -> Result<Program, Failure> {
    match &options.program {
        Served::Run(Line { command }) => {
            let (time, per_connection) = (options.max_request_time, options.per_connection);
            let serving = serving(&options.boot, time, per_connection, outgoing);
            let booted = Program::boot_server(host, &spec(&options.boot, command, outgoing)?, &serving);
            let (program, traces) = booted.map_err(|e| e.to_string())?;
            words.tell(&traces);
            tell_boot(&program);
            Ok(program)
        }
        Served::Snaprun { file } => {
            let serve = matches.subcommand_matches("serve");
            if let Some(name) = serve.and_then(config::boot_option) {
                return Err(format!(
                    "--{name} with snaprun: the program in {} has booted",
                    file.display()
                )
                .into());
            }
            if let Some(volume) = options.boot.volumes.iter().find(|volume| !volume.writable) {
                let (guest, file) = (&volume.guest, file.display());
                return Err(format!("--volume {guest} with snaprun: what is only read is in {file}").into());
            }
            let opening = Opening {
                base: None,
                protocol: Some(protocol(options.per_connection)),
                outside: Some(outgoing.clone()),
                granted: granted(&options.boot)?,
                limits: limits(&options.boot),
            };
            let (program, notes) = Program::open(host, file, &opening)?;
            outgoing.remember(&String::from_utf8_lossy(&notes));
            let report = program.report();
            eprintln!(
                "mayfly: from {} in {:.1} ms, {} MiB",
                file.display(),
                report.boot_ns as f64 / 1e6,
                report.memory_bytes >> 20
            );
            Ok(program)
        }
    }
}

fn serve_program(options: &Serve, matches: &clap::ArgMatches) -> Result<(), Failure> {
    let tls = match (&options.tls_cert, &options.tls_key) {
        (Some(chain), Some(key)) => Some(tls::config(chain, key)?),
        _ => None,
    };
    let host = Arc::new(Host::open()?);
    let threads = match options.threads {
        0 => std::thread::available_parallelism()?.get(),
        threads => threads,
    };
    let bounds = Bounds {
        connections: options.max_connect,
        ..Bounds::default()
    };
    let outgoing = Outgoing::start(options.boot.allow_connect.clone(), bounds)?;
    let words = Words::new(!options.quiet);
    let program = program(&host, options, &outgoing, &words, matches)?;
    let running = Running {
        timeout_ns: seconds(options.max_request_time),
        parked_bytes: options.max_parked_memory << 20,
        ephemeral: options.ephemeral,
        checks: options.check_resets,
    };
    let files = descriptors::raise();
    let outside = match outgoing.allowed() {
        [] => 0,
        _ => options.max_connect as u64,
    };
    let connections = descriptors::connections(options.connections, files.saturating_sub(outside));
    if connections < options.connections {
        eprintln!(
            "mayfly: --connections {}: this process may have {files} files open (ulimit -n), so {connections} are served at a time",
            options.connections
        );
    }
    let front = Arc::new(Front {
        machines: Machines::start(program, threads, options.queue, running)?,
        limits: ClientLimits {
            connections,
            body_bytes: options.max_body << 20,
            patience: options.patience(),
        },
        counts: Counts::default(),
        outgoing,
        raw: options.per_connection,
        uploads: Arc::new(Semaphore::new((options.queue / UPLOADS_SHARE).max(1))),
        tls,
        words,
    });
    let stop = stop_on_signal()?;
    if let Some(listen) = &options.admin {
        let bound = admin::start(front.clone(), listen, stop.clone())
            .map_err(|e| format!("--admin {listen}: {e}"))?;
        eprintln!("mayfly: /metrics and /status on {bound}");
    }
    for mount in granted(&options.boot)? {
        let reset = match options.ephemeral {
            true => ", outside of the reset: what requests write there stays",
            false => "",
        };
        eprintln!("mayfly: {mount} is written where it lies{reset}");
    }
    if let [first, rest @ ..] = front.outgoing.allowed() {
        let rest: String = rest.iter().map(|allowed| format!(", {allowed}")).collect();
        eprintln!("mayfly: requests may connect to {first}{rest}");
    }
    serve(&front, &options.listen, threads, &stop, |bound| {
        let kind = match (options.ephemeral, options.per_connection) {
            (true, true) => "reset after each connection",
            (true, false) => "reset after each request",
            (false, _) => "state kept",
        };
        eprintln!("mayfly: listening on {bound}, {threads} machines, {kind}");
    })?;
    Ok(())
}

fn seconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

/// Told once when the process is asked to end; asked again, it ends at once.
fn stop_on_signal() -> Result<watch::Receiver<bool>, Failure> {
    let (tell, told) = watch::channel(false);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let wait = async move {
        let (Ok(mut interrupt), Ok(mut terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            return;
        };
        for times in 0.. {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if times > 0 {
                std::process::exit(130);
            }
            tell.send_replace(true);
        }
    };
    std::thread::Builder::new()
        .name("mayfly-signal".into())
        .spawn(move || runtime.block_on(wait))?;
    Ok(told)
}

/// The file of a program, by a path or by its name in PATH.
fn find(program: &str) -> Result<PathBuf, Failure> {
    let found = if program.contains('/') {
        PathBuf::from(program).canonicalize().ok()
    } else {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders)
            .map(|folder| folder.join(program))
            .find(|path| path.is_file())
            .and_then(|path| path.canonicalize().ok())
    };
    found.ok_or_else(|| format!("run {program}: there is no such file, want a path or a name in PATH").into())
}

/// A volume's path without links.
fn real(host: &Path) -> Result<PathBuf, Failure> {
    let real = host.canonicalize();
    Ok(real.map_err(|e| format!("--volume {}: {e}", host.display()))?)
}

/// The folders that the program writes.
fn granted(options: &Boot) -> Result<Vec<Mount>, Failure> {
    let mut mounts = Vec::new();
    for volume in options.volumes.iter().filter(|volume| volume.writable) {
        mounts.push(Mount::writable(&volume.guest, real(&volume.host)?));
    }
    for path in &options.allow_write {
        let same = Mount::same_writable(path);
        mounts.push(same.map_err(|e| format!("--allow-write {}: {e}", path.display()))?);
    }
    Ok(mounts)
}

fn spec(options: &Boot, command: &[String], outgoing: &Outgoing) -> Result<Spec, Failure> {
    let mut spec = Spec::command(&find(&command[0])?, command)?;
    // Before what the user shows, which may show the host's own in their places.
    spec.mounts.extend(outgoing.files());
    for allowed in &options.allow_read {
        spec.show(allowed)
            .map_err(|e| format!("--allow-read {}: {e}", allowed.display()))?;
    }
    for volume in options.volumes.iter().filter(|volume| !volume.writable) {
        spec.mounts.push(Mount::host(&volume.guest, real(&volume.host)?));
    }
    spec.mounts.extend(granted(options)?);
    for name in &options.allow_env {
        if let Ok(value) = std::env::var(name) {
            spec.environment.push(format!("{name}={value}"));
        }
    }
    spec.environment.extend(options.env.iter().cloned());
    if let Some(folder) = &options.cwd {
        spec.folder.clone_from(folder);
    }
    spec.limits = Limits {
        sockets: spec.limits.sockets,
        ..limits(options)
    };
    Ok(spec)
}

fn limits(options: &Boot) -> Limits {
    Limits {
        memory_bytes: options.max_main_memory << 20,
        output_bytes: options.max_answer << 20,
        granted_bytes: options.max_write << 20,
        granted_files: options.max_write_files,
        boot_ns: seconds(options.max_boot_time),
        ..Limits::default()
    }
}

/// How the end of an answer is known.
fn protocol(per_connection: bool) -> Arc<dyn Protocol> {
    match per_connection {
        true => Arc::new(Raw),
        false => Arc::new(Http),
    }
}

fn serving(options: &Boot, request_time: f64, per_connection: bool, outgoing: &Arc<Outgoing>) -> Serving {
    let paths = match options.warmup_path.is_empty() {
        true => vec!["/".to_owned()],
        false => options.warmup_path.clone(),
    };
    let request = |path: &String| {
        format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nuser-agent: mayfly-warmup\r\naccept: */*\r\nconnection: close\r\n\r\n")
            .into_bytes()
    };
    Serving {
        port: options.guest_port,
        protocol: protocol(per_connection),
        warmup: paths.iter().cycle().take(options.warmup).map(request).collect(),
        timeout_ns: seconds(request_time),
        stream_ns: seconds(options.max_stream_time),
        outside: Some(outgoing.clone()),
        warmup_connects: options.warmup_connect,
    }
}
