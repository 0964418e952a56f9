//! The command itself: a snapshot that it writes, and serves again. Skipped aloud without `/dev/kvm` or `gcc`.

#[path = "../support/c_guest.rs"]
mod c_guest;
mod outgoing;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mayfly_front::descriptors;

const MAYFLY: &str = env!("CARGO_BIN_EXE_mayfly-cli");

/// A folder with the guest in it; gone at the test's end.
struct Folder(PathBuf);

impl Folder {
    /// With the guest of this source.
    fn with(guest: &str) -> Option<Folder> {
        c_guest::host()?;
        let folder = Folder(c_guest::new_folder("command"));
        if !c_guest::compile(&format!("command/{guest}"), &folder.0.join("guest")) {
            return None;
        }
        Some(folder)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A server of the command's; ended with the value.
struct Served {
    child: Child,
    address: String,
    /// What it said before it listened, and has said since.
    told: Arc<Mutex<Vec<String>>>,
}

impl Served {
    fn start(arguments: &[&str]) -> Served {
        Served::start_by(&mut Command::new(MAYFLY), arguments)
    }

    /// By a command that becomes the server.
    fn start_by(command: &mut Command, arguments: &[&str]) -> Served {
        let first = ["serve", "--listen", "127.0.0.1:0"];
        let mut child = command
            .args([&first[..], arguments].concat())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command");
        let mut lines = BufReader::new(child.stderr.take().expect("its words")).lines();
        let mut told = Vec::new();
        let listening = lines.by_ref().map_while(Result::ok).find_map(|line| {
            told.push(line.clone());
            let rest = line.strip_prefix("mayfly: listening on ")?;
            Some(rest.split(',').next()?.to_owned())
        });
        let address = listening.unwrap_or_else(|| panic!("no server that listens: {told:?}"));
        let told = Arc::new(Mutex::new(told));
        let tells = told.clone();
        // Whoever writes must be read.
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                tells.lock().expect("no reader that fails").push(line);
            }
        });
        Served { child, address, told }
    }

    /// Waits until it has said a line with this in it, and gives how many such lines there are.
    fn wait_for(&self, text: &str) -> usize {
        let begun = Instant::now();
        loop {
            let told = self.told.lock().expect("no reader that fails");
            let count = told.iter().filter(|line| line.contains(text)).count();
            if count > 0 {
                return count;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "no {text} in {told:?}");
            drop(told);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What a request for a path is told.
    fn get(&self, path: &str) -> String {
        let mut client = TcpStream::connect(&self.address).expect("a connection");
        client
            .write_all(
                format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").as_bytes(),
            )
            .expect("a request");
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("an answer");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        body.into()
    }

    /// The count and the number that a request is told.
    fn ask(&self) -> (String, String) {
        let body = self.get("/");
        let (count, drawn) = body.trim().split_once(' ').expect("two words");
        (count.into(), drawn.into())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(arguments: &[&str]) -> Output {
    Command::new(MAYFLY)
        .args(arguments)
        .output()
        .expect("the command")
}

#[test]
fn a_snapshot_is_written_served_twice_and_refused_when_it_is_damaged() {
    let Some(folder) = Folder::with("guest") else {
        return;
    };
    let (guest, file) = (folder.file("guest"), folder.file("app.snap"));
    let written = run(&["snapshot", "-o", &file, "--warmup", "3", "run", &guest]);
    assert!(written.status.success(), "{written:?}");
    assert_eq!(
        fs::metadata(&file).expect("a file").permissions().mode() & 0o777,
        0o600
    );
    let mut drawn = std::collections::BTreeSet::new();
    for _ in 0..2 {
        let served = Served::start(&["--ephemeral", "--check-resets", "snaprun", &file]);
        for _ in 0..3 {
            let (count, number) = served.ask();
            // Three requests of the warm-up are in the snapshot.
            assert_eq!(count, "4");
            assert!(drawn.insert(number), "two requests drew the same");
        }
    }
    let served = Served::start(&["snaprun", &file]);
    assert_eq!([served.ask().0, served.ask().0], ["4", "5"], "state is kept");
    drop(served);
    for (arguments, said) in [
        (
            &["serve", "--warmup", "3", "snaprun", &file][..],
            "--warmup with snaprun",
        ),
        (&["serve", "snaprun", &guest], "it is no snapshot"),
        (&["serve", "snaprun", "/no/such/file"], "No such file"),
    ] {
        let refused = run(arguments);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{told}");
        assert!(told.contains(said), "{told}");
    }
    let mut bytes = fs::read(&file).expect("a file");
    let last = bytes.len() - 5000;
    bytes[last] ^= 1;
    fs::write(&file, &bytes).expect("a damaged file");
    let refused = run(&["serve", "snaprun", &file]);
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("is damaged"),
        "{refused:?}"
    );
}

#[test]
fn what_a_program_writes_where_it_may_stays_on_the_host() {
    let Some(folder) = Folder::with("files") else {
        return;
    };
    let data = folder.0.join("data");
    fs::create_dir(&data).expect("a folder");
    fs::write(folder.file("outside"), "outside").expect("a file");
    std::os::unix::fs::symlink("../outside", data.join("out")).expect("a link");
    let volume = format!("{}:/data:rw", data.display());
    let guest = folder.file("guest");
    let host = |name: &str| fs::read_to_string(data.join(name)).expect("a file");
    for kept in [&["--ephemeral", "--check-resets"][..], &["--threads", "2"]] {
        let _ = fs::remove_file(data.join("log"));
        let bounds = [
            "--volume",
            &volume,
            "--max-write",
            "4",
            "--max-write-files",
            "5",
            "run",
            &guest,
        ];
        let served = Served::start(&[kept, &bounds].concat());
        // A script of calls, which cleans up behind itself: the second time is as the first.
        assert_eq!([served.get("/check"), served.get("/check")], ["good", "good"]);
        // The log was opened before the snapshot: each request, in each machine, adds to it.
        for word in ["one", "two", "three"] {
            assert_eq!(served.get(&format!("/append/{word}")), "1");
        }
        assert_eq!(host("log"), "one\ntwo\nthree\n");
        // What others write is there at once.
        fs::write(data.join("news"), "fresh").expect("a file");
        assert_eq!(served.get("/get/news"), "fresh");
        assert_eq!(served.get("/put/page/100"), "100 0");
        assert_eq!(host("page"), "x".repeat(100));
        assert_eq!(served.get("/get/page"), "x".repeat(100));
        // 13 is EACCES, 28 ENOSPC, 2 ENOENT.
        for way in ["out", "../outside", "d/../../outside"] {
            let told = served.get(&format!("/open/{way}"));
            assert!(told == "13" || told == "2", "{way}: {told}");
        }
        let room = (4 << 20) - 100 - 14;
        assert_eq!(served.get("/put/large/9000000"), format!("{room} 28"));
        assert_eq!(fs::metadata(data.join("large")).expect("a file").len(), room);
        assert_eq!(served.get("/put/large/5"), "5 0");
        for number in 0..2 {
            assert_eq!(served.get(&format!("/put/more{number}/1")), "1 0");
        }
        assert_eq!(served.get("/put/more2/1"), "0 28", "as many files as may be");
        drop(served);
        for name in ["page", "large", "more0", "more1", "news"] {
            fs::remove_file(data.join(name)).expect("a file that stayed");
        }
    }
    assert_eq!(
        fs::read_to_string(folder.file("outside")).expect("a file"),
        "outside"
    );
    // A program that has such a file open is in no file; what one in a file may write is to be said again.
    let snapshot = folder.file("app.snap");
    let refused = run(&["snapshot", "-o", &snapshot, "--volume", &volume, "run", &guest]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        told.contains("a file is open in a folder that may be written"),
        "{told}"
    );
    let closed = format!("{}:/late:rw", data.display());
    let written = run(&[
        "snapshot",
        "-o",
        &snapshot,
        "--volume",
        &closed,
        "--env",
        "ROOT=/late",
        "run",
        &guest,
    ]);
    assert!(written.status.success(), "{written:?}");
    let _ = fs::remove_file(data.join("log"));
    for (arguments, said) in [
        (
            &["serve", "snaprun", &snapshot][..],
            "writes to /late, which is not granted again",
        ),
        (
            &["serve", "--volume", &volume, "snaprun", &snapshot],
            "writes to /late",
        ),
        (
            &[
                "serve",
                "--volume",
                &closed,
                "--allow-write",
                "/tmp",
                "snaprun",
                &snapshot,
            ],
            "was not granted /tmp",
        ),
    ] {
        let refused = run(arguments);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{told}");
        assert!(told.contains(said), "{told}");
    }
    let served = Served::start(&[
        "--ephemeral",
        "--check-resets",
        "--volume",
        &closed,
        "snaprun",
        &snapshot,
    ]);
    assert_eq!(served.get("/put/from-file/3"), "3 0");
    assert_eq!(host("from-file"), "xxx");
}

/// What is said once of a program that asks for processes.
const PROCESSES: &str = "the program asked for another process, and a machine has one";

#[test]
fn a_program_that_asks_for_processes_is_told_of_and_what_it_prints_as_it_boots_is_passed_on() {
    let Some(folder) = Folder::with("forks") else {
        return;
    };
    let guest = folder.file("guest");
    let served = Served::start(&["-e", "run", &guest]);
    for _ in 0..2 {
        assert_eq!(served.get("/"), "alone");
    }
    served.wait_for("fork request: 1");
    assert_eq!(served.wait_for(PROCESSES), 1);
    let served = Served::start(&["-e", "run", &guest, "helper"]);
    assert_eq!(served.wait_for("fork helper: 1"), 1);
    assert_eq!(served.get("/"), "alone");
    served.wait_for("fork request: 1");
    assert_eq!(served.wait_for(PROCESSES), 1, "it was said of the boot");
    for (options, mode, ended, printed) in [
        (&[][..], "boot", "ended: Exit(3)", "fork first: 1"),
        (
            &["--guest-port", "81"],
            "helper",
            "on port Some(81)",
            "fork helper: 1",
        ),
    ] {
        let refused = run(&[&["serve"], options, &["run", &guest, mode]].concat());
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{told}");
        let ended = format!("{ended}, after it asked for another process");
        assert!(told.contains(&ended) && told.contains(printed), "{told}");
    }
}

#[test]
fn folders_that_cannot_be_granted_are_told() {
    let Some(folder) = Folder::with("guest") else {
        return;
    };
    let (guest, file) = (folder.file("guest"), folder.file("file"));
    fs::write(&file, "").expect("a file");
    let inside = folder.file("inside");
    fs::create_dir(&inside).expect("a folder");
    let all = folder.0.display().to_string();
    for (arguments, said) in [
        (&["--allow-write", &file][..], "Not a directory"),
        (&["--allow-write", "/no/such/folder"], "No such file"),
        (
            &["--allow-write", &all, "--allow-read", &inside],
            "would lie in it",
        ),
        (&["--allow-write", &all], "would lie in it"),
        (&["--volume", &format!("{inside}:/:rw")], "an absolute path"),
        (&["--volume", &format!("{inside}:/a/../b:rw")], "an absolute path"),
    ] {
        let refused = run(&[&["serve"], arguments, &["run", &guest]].concat());
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{told}");
        assert!(told.contains(said), "{arguments:?}: {told}");
    }
}

/// Clients that connect and say nothing, or ask once and stay.
const IDLE: u64 = 10_000;
/// Files that the test itself has open beside them.
const OWN: u64 = 200;

/// What a process holds, in KiB.
fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("its status");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .expect("a size");
    line.split_whitespace()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .expect("a number")
}

#[test]
fn idle_clients_harm_nobody() {
    let Some(folder) = Folder::with("guest") else {
        return;
    };
    let most = descriptors::raise();
    let idle = IDLE.min(most - OWN);
    if idle < IDLE {
        println!("SKIPPED: of {IDLE} clients {}: ulimit -Hn is {most}", IDLE - idle);
    }
    // From the limit that people have, which the command raises.
    let serve = format!("ulimit -Sn 1024; exec {MAYFLY} \"$@\"");
    let served = Served::start_by(
        Command::new("sh").args(["-c", &serve, "mayfly"]),
        &[
            "--ephemeral",
            "--connections",
            "20000",
            "run",
            &folder.file("guest"),
        ],
    );
    let first = served.ask();
    let before = resident(served.child.id());
    let clients: Vec<TcpStream> = (0..idle)
        .map(|number| {
            let mut client = TcpStream::connect(&served.address).expect("a connection");
            if number % 2 == 0 {
                client
                    .write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
                    .expect("a request");
                let mut answer = [0; 16];
                client.read_exact(&mut answer).expect("an answer");
                assert!(answer.starts_with(b"HTTP/1.1 200 OK"));
            }
            client
        })
        .collect();
    let grown = resident(served.child.id()).saturating_sub(before);
    assert!(grown / idle < 32, "{grown} KiB for {idle} clients");
    assert_eq!(served.ask().0, first.0, "of a machine that is as new");
    drop(clients);
    assert_eq!(served.ask().0, first.0);
}
