//! Servers of C in the background, which live as long as the tests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use mayfly_front::answer::Http;
use mayfly_front::front::{ClientLimits, Counts, Front};
use mayfly_front::listen::Listen;
use mayfly_front::machines::{Machines, Running};
use mayfly_front::outgoing::{Bounds, Outgoing};
use mayfly_front::raw::Raw;
use mayfly_front::server::serve;
use mayfly_front::words::Words;
use mayfly_pool::{Limits, Mount, Program, Serving, Spec};
use tokio::sync::{Semaphore, watch};

use super::{BODY_MAX, c_guest, tls};

/// A server in the background.
pub fn start(ephemeral: bool, secure: bool) -> Option<Served> {
    start_as(ephemeral, secure, false)
}

/// The same, and whether its connections go to the program as they are.
pub fn start_as(ephemeral: bool, secure: bool, raw: bool) -> Option<Served> {
    let how = How {
        ephemeral,
        secure,
        raw,
        ..How::default()
    };
    start_how(&how)
}

/// How a server is started.
pub struct How {
    /// Its source, among the tests'.
    pub guest: &'static str,
    /// What it is told.
    pub arguments: Vec<String>,
    pub ephemeral: bool,
    pub secure: bool,
    pub raw: bool,
    /// What it may connect to.
    pub allowed: Vec<String>,
    pub bounds: Bounds,
    /// Bytes that parked machines may hold.
    pub parked_bytes: u64,
    /// Paths that the warm-up asks for, and whether it connects there.
    pub warmup: Vec<String>,
    pub warmup_connects: bool,
    /// Longest time of a request.
    pub time: Duration,
}

impl Default for How {
    fn default() -> Self {
        Self {
            guest: "guest",
            arguments: Vec::new(),
            ephemeral: true,
            secure: false,
            raw: false,
            allowed: Vec::new(),
            bounds: Bounds::default(),
            parked_bytes: 1 << 30,
            warmup: vec!["/count".into(); 2],
            warmup_connects: false,
            // On an emulated machine it takes seconds to fill the memory.
            time: Duration::from_secs(10),
        }
    }
}

/// The same, as it is told.
pub fn start_how(how: &How) -> Option<Served> {
    let host = Arc::new(c_guest::host()?);
    let folder = c_guest::new_folder("serve");
    let path = folder.join("guest");
    if !c_guest::compile(&format!("serve/{}", how.guest), &path) {
        return None;
    }
    let allowed = how
        .allowed
        .iter()
        .map(|text| text.parse().expect("a host and a port"));
    let outgoing = Outgoing::start(allowed.collect(), how.bounds).expect("names and threads");
    let mut mounts = outgoing.files();
    mounts.push(Mount::host("/guest", &path));
    let mut arguments = vec!["guest".to_owned()];
    arguments.extend(how.arguments.iter().cloned());
    let spec = Spec {
        path: "/guest".into(),
        arguments,
        mounts,
        limits: Limits {
            memory_bytes: 64 << 20,
            sockets: 128,
            output_bytes: 80 << 20,
            ..Limits::default()
        },
        ..Spec::default()
    };
    let serving = Serving {
        port: None,
        protocol: match how.raw {
            true => Arc::new(Raw),
            false => Arc::new(Http),
        },
        warmup: how
            .warmup
            .iter()
            .map(|path| format!("GET {path} HTTP/1.1\r\n\r\n").into_bytes())
            .collect(),
        warmup_connects: how.warmup_connects,
        timeout_ns: 10_000_000_000,
        stream_ns: 60_000_000_000,
        outside: Some(outgoing.clone()),
    };
    let (program, _) = Program::boot_server(&host, &spec, &serving).expect("a server that boots");
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    let running = Running {
        timeout_ns: how.time.as_nanos() as u64,
        parked_bytes: how.parked_bytes,
        ephemeral: how.ephemeral,
        checks: how.ephemeral,
    };
    let front = Arc::new(Front {
        machines: Machines::start(program, 1, 64, running).expect("machines"),
        limits: ClientLimits {
            connections: 100,
            body_bytes: BODY_MAX as u64,
            patience: Duration::from_secs(2),
        },
        uploads: Arc::new(Semaphore::new(2)),
        counts: Counts::default(),
        outgoing,
        raw: how.raw,
        tls: how.secure.then(tls::config),
        words: Words::new(false),
    });
    let shared = front.clone();
    let (tell, told) = channel();
    thread::spawn(move || {
        let (_stop, stopped) = watch::channel(false);
        let listen = Listen::Tcp(([127, 0, 0, 1], 0).into());
        serve(&front, &listen, 1, &stopped, |bound| {
            tell.send(bound.clone()).expect("a test that waits")
        })
    });
    match told
        .recv_timeout(Duration::from_secs(30))
        .expect("a server that listens")
    {
        Listen::Tcp(address) => Some(Served {
            address,
            front: shared,
        }),
        Listen::Unix(_) => unreachable!("it was told an address"),
    }
}

/// A server that listens.
pub struct Served {
    pub address: SocketAddr,
    pub front: Arc<Front>,
}
