//! A worker that crashes ends what its machines have open outside.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mayfly_wire::HEAD_BYTES;

use super::alone;
use super::tests::host;
use crate::{
    Channel, Job, Limits, Link, Mount, Outcome, Outside, Pool, Program, Protocol, Serving, Spec, Watch,
};

/// An answer is one byte.
#[derive(Debug)]
struct OneByte;

impl Protocol for OneByte {
    fn watch(&self, _: &[u8]) -> Box<dyn Watch> {
        Box::new(OneByte)
    }
}

impl Watch for OneByte {
    fn more(&mut self, bytes: &[u8]) -> bool {
        !bytes.is_empty()
    }
}

/// Tells of links, and makes no connection.
#[derive(Debug)]
struct Told {
    dialed: Mutex<Sender<(SocketAddr, Arc<Link>)>>,
    changed: Mutex<Sender<u64>>,
}

impl Outside for Told {
    fn permit(&self, _: SocketAddr, booted: bool) -> bool {
        booted
    }

    fn dial(&self, to: SocketAddr, link: Arc<Link>) {
        self.dialed.lock().unwrap().send((to, link)).unwrap();
    }

    fn changed(&self, link: &Link) {
        self.changed.lock().unwrap().send(link.number()).unwrap();
    }
}

type Started = (
    Pool,
    Arc<Program>,
    Receiver<(SocketAddr, Arc<Link>)>,
    Receiver<u64>,
);

/// The guest as an ELF file; none without a compiler. What that says goes to the test's output.
fn build() -> Option<Vec<u8>> {
    static BUILDS: AtomicUsize = AtomicUsize::new(0);
    let number = BUILDS.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("mayfly-outside-{}-{number}", std::process::id()));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/injected/outside_guest.c");
    let built = Command::new("cc")
        .args(["-O1", "-w", "-static", "-o"])
        .arg(&path)
        .arg(source)
        .status();
    if !built.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: no C compiler that links static programs: install gcc and libc6-dev");
        return None;
    }
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    Some(bytes)
}

/// A pool of one worker, a program that asks the outside, and what is heard of that.
fn start() -> Option<Started> {
    let host = host()?;
    let bytes = build()?;
    let ((dialed, dials), (changed, changes)) = (channel(), channel());
    let spec = Spec {
        path: "/guest".into(),
        arguments: vec!["guest".into()],
        mounts: vec![Mount::bytes("/guest", bytes)],
        limits: Limits {
            memory_bytes: 32 << 20,
            output_bytes: 4096,
            sockets: 16,
            ..Limits::default()
        },
        ..Spec::default()
    };
    let serving = Serving {
        port: None,
        protocol: Arc::new(OneByte),
        warmup: Vec::new(),
        timeout_ns: 60_000_000_000,
        stream_ns: 60_000_000_000,
        warmup_connects: false,
        outside: Some(Arc::new(Told {
            dialed: Mutex::new(dialed),
            changed: Mutex::new(changed),
        })),
    };
    let program = Arc::new(Program::boot_server(&host, &spec, &serving).unwrap().0);
    Some((Pool::start(1, 100).unwrap(), program, dials, changes))
}

/// Asks with these bytes behind a frame's head, of which nothing is read but by what makes a worker crash.
fn ask(pool: &Pool, program: &Arc<Program>, id: u64, what: &[u8]) {
    let channel = Arc::new(Channel::default());
    pool.finish(id, &channel);
    let job = Job {
        id,
        program: program.clone(),
        flow: 0,
        weight: 1,
        frame: [&[0; HEAD_BYTES][..], what].concat(),
        timeout_ns: 60_000_000_000,
        keep: false,
        check: false,
        channel: Some(channel),
    };
    pool.submit(job).unwrap();
}

fn outcomes(pool: &Pool, count: usize) -> Vec<(u64, Outcome)> {
    let (mut all, end) = (Vec::new(), Instant::now() + Duration::from_secs(120));
    while all.len() < count {
        assert!(Instant::now() < end, "{} of {count} came", all.len());
        pool.fetch(&mut all, count, Duration::from_secs(1));
    }
    let mut all: Vec<_> = all.into_iter().map(|done| (done.id, done.outcome)).collect();
    all.sort_by_key(|(id, _)| *id);
    all
}

const SOON: Duration = Duration::from_secs(120);

#[test]
fn a_crash_ends_the_connections_of_all_machines_of_its_worker() {
    let _alone = alone();
    let Some((pool, program, dials, changes)) = start() else {
        return;
    };
    let mut links = Vec::new();
    for id in 1..=2 {
        ask(&pool, &program, id, b"hello");
        let (to, link) = dials.recv_timeout(SOON).unwrap();
        assert_eq!(to, SocketAddr::from(([192, 0, 2, 1], 80)));
        link.made();
        links.push(link);
    }
    while pool.parked() < 2 {
        std::thread::yield_now();
    }
    assert!(links.iter().all(|link| !link.is_closed()));
    ask(&pool, &program, 3, b"segv");
    let done = outcomes(&pool, 3);
    for (_, outcome) in &done {
        assert!(matches!(outcome, Outcome::Failed(_)), "{done:?}");
    }
    let told = [(); 2].map(|()| changes.recv_timeout(SOON).unwrap());
    assert!(
        links
            .iter()
            .all(|link| link.is_closed() && told.contains(&link.number()))
    );
    // The next worker's machines connect as ever, and are told what comes.
    ask(&pool, &program, 4, b"hello");
    let (_, link) = dials.recv_timeout(SOON).unwrap();
    link.made();
    link.give(b"+");
    assert_eq!(outcomes(&pool, 1), [(4, Outcome::Answered(b"+".to_vec()))]);
}

#[test]
fn one_that_is_called_off_leaves_its_connection() {
    let _alone = alone();
    let Some((pool, program, dials, changes)) = start() else {
        return;
    };
    ask(&pool, &program, 1, b"hello");
    let (_, link) = dials.recv_timeout(SOON).unwrap();
    drop(pool);
    assert_eq!(changes.recv_timeout(SOON).unwrap(), link.number());
    assert!(link.is_closed());
    // Whoever is late harms nobody.
    link.made();
    link.give(b"late");
    link.end();
}
