//! The command itself: a snapshot that it writes, and serves again. Skipped aloud without `/dev/kvm` or `gcc`.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use mayfly_vmm::Host;

const MAYFLY: &str = env!("CARGO_BIN_EXE_mayfly-cli");

/// A folder with the guest in it; gone at the test's end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Option<Folder> {
        match Host::open() {
            Ok(_) => {}
            Err(mayfly_vmm::Error::Unavailable(why)) => {
                println!("SKIPPED: {}; {}", why.reason, why.hint);
                return None;
            }
            Err(e) => panic!("{e}"),
        }
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("command-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        let folder = Folder(path);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/guest.c");
        let built = Command::new("gcc")
            .args(["-O1", "-static", "-o"])
            .arg(folder.file("guest"))
            .arg(source)
            .status();
        match built {
            Ok(status) => assert!(status.success()),
            Err(_) => {
                println!("SKIPPED: gcc is missing");
                return None;
            }
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
}

impl Served {
    fn start(arguments: &[&str]) -> Served {
        let first = ["serve", "--listen", "127.0.0.1:0"];
        let mut child = Command::new(MAYFLY)
            .args([&first[..], arguments].concat())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command");
        let mut lines = BufReader::new(child.stderr.take().expect("its words")).lines();
        let mut told = lines.by_ref().map_while(Result::ok);
        let listening = told.find_map(|line| {
            let rest = line.strip_prefix("mayfly: listening on ")?;
            Some(rest.split(',').next()?.to_owned())
        });
        let address = listening.expect("a server that listens");
        // Whoever writes must be read.
        std::thread::spawn(move || lines.for_each(drop));
        Served { child, address }
    }

    /// The count and the number that a request is told.
    fn ask(&self) -> (String, String) {
        let mut client = TcpStream::connect(&self.address).expect("a connection");
        client
            .write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .expect("a request");
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("an answer");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
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
    let Some(folder) = Folder::new() else { return };
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
