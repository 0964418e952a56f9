//! The command `mayfly`: unmodified servers in virtual machines.

mod options;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use mayfly_front::answer::Http;
use mayfly_front::machines::{Machines, Running};
use mayfly_front::server::{ClientLimits, Front, Listen, UPLOADS_SHARE, serve};
use mayfly_pool::{Mount, Program, Serving, Spec};
use mayfly_vmm::Host;
use options::{Arguments, Command, Run, Serve};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};

/// An error for the person at the command line.
type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let Command::Serve(options) = Arguments::parse().command;
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("mayfly: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Serve) -> Result<(), Failure> {
    let tls = tls(options)?;
    let host = Arc::new(Host::open()?);
    let threads = match options.threads {
        0 => std::thread::available_parallelism()?.get(),
        threads => threads,
    };
    let spec = spec(options)?;
    let program = Program::boot_server(&host, &spec, &serving(options)).map_err(|e| e.to_string())?;
    let report = program.report();
    eprintln!(
        "mayfly: booted in {} ms, warmed up by {} requests in {} ms, {} MiB",
        report.boot_ns / 1_000_000,
        report.warmup_requests,
        report.warmup_ns / 1_000_000,
        report.memory_bytes >> 20
    );
    let running = Running {
        timeout_ns: seconds(options.max_request_time),
        ephemeral: options.ephemeral,
        checks: options.check_resets,
    };
    let front = Arc::new(Front {
        machines: Machines::start(program, threads, options.queue, running)?,
        limits: ClientLimits {
            connections: options.connections,
            body_bytes: options.max_body << 20,
            patience: options.patience(),
        },
        uploads: Arc::new(Semaphore::new((options.queue / UPLOADS_SHARE).max(1))),
        tls,
        tells_log: !options.quiet,
    });
    let stop = stop_on_signal()?;
    serve(&front, &options.listen, threads, &stop, |bound| {
        let kind = if options.ephemeral {
            "each request reset"
        } else {
            "state kept"
        };
        match bound {
            Listen::Tcp(address) => eprintln!("mayfly: listening on {address}, {threads} machines, {kind}"),
            Listen::Unix(path) => {
                eprintln!(
                    "mayfly: listening on {}, {threads} machines, {kind}",
                    path.display()
                );
            }
        }
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

fn tls(options: &Serve) -> Result<Option<Arc<ServerConfig>>, Failure> {
    let (Some(chain), Some(key)) = (&options.tls_cert, &options.tls_key) else {
        return Ok(None);
    };
    let wrong =
        |path: &Path, e: rustls::pki_types::pem::Error| format!("read {}: {e}, want PEM", path.display());
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_file_iter(chain)
        .map_err(|e| wrong(chain, e))?
        .collect();
    let certificates = certificates.map_err(|e| wrong(chain, e))?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|e| wrong(key, e))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Some(Arc::new(config)))
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

fn spec(options: &Serve) -> Result<Spec, Failure> {
    let Run::Run { command } = &options.program;
    let mut spec = Spec::command(&find(&command[0])?, command)?;
    for allowed in &options.allow_read {
        spec.show(allowed)
            .map_err(|e| format!("--allow-read {}: {e}", allowed.display()))?;
    }
    for volume in &options.volumes {
        spec.mounts.push(Mount::host(
            volume.guest.clone(),
            volume
                .host
                .canonicalize()
                .map_err(|e| format!("--volume {}: {e}", volume.host.display()))?,
        ));
    }
    for name in &options.allow_env {
        if let Ok(value) = std::env::var(name) {
            spec.environment.push(format!("{name}={value}"));
        }
    }
    spec.environment.extend(options.env.iter().cloned());
    if let Some(folder) = &options.cwd {
        spec.folder.clone_from(folder);
    }
    spec.limits.memory_bytes = options.max_main_memory << 20;
    spec.limits.output_bytes = options.max_answer << 20;
    spec.limits.boot_ns = seconds(options.max_boot_time);
    Ok(spec)
}

fn serving(options: &Serve) -> Serving {
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
        protocol: Arc::new(Http),
        warmup: paths.iter().cycle().take(options.warmup).map(request).collect(),
        timeout_ns: seconds(options.max_request_time),
        stream_ns: seconds(options.max_stream_time),
    }
}
