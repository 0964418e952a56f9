//! A folder that the host granted, as the calls meet it: a host of plain data notes what it is asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::*;
use crate::errno::Errno;
use crate::fs::granted::{Granted, HostFolder, HostOpen, HostOpened, HostStatus, How, Listed};

/// Files by path, and the paths that were asked for.
#[derive(Clone, Default)]
struct Host(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    files: BTreeMap<Vec<u8>, Vec<u8>>,
    asked: Vec<String>,
}

/// An open file of it.
struct Open {
    host: Host,
    path: Vec<u8>,
}

impl Host {
    fn ask(&self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        let mut known = self.0.lock().expect("one thread");
        known.asked.push(String::from_utf8_lossy(path).into_owned());
        known.files.get(path).cloned().ok_or(Errno::ENOENT)
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("one thread").asked)
    }
}

/// A path without a last part is a folder's.
fn status(path: &[u8], bytes: &[u8]) -> HostStatus {
    let folder = bytes == b"folder";
    HostStatus {
        inode: path.len() as u64,
        mode: if folder { 0o040_755 } else { 0o100_644 },
        links: 1,
        bytes: bytes.len() as u64,
        modified: 0,
    }
}

impl HostFolder for Host {
    fn open(&self, path: &[u8], how: How) -> Result<HostOpened, Errno> {
        if let Err(errno) = self.ask(path) {
            if !how.create {
                return Err(errno);
            }
            let files = &mut self.0.lock().expect("one thread").files;
            files.insert(path.to_vec(), Vec::new());
        }
        let (host, path) = (self.clone(), path.to_vec());
        Ok(HostOpened(Arc::new(Open { host, path })))
    }

    fn status(&self, path: &[u8], _: bool) -> Result<HostStatus, Errno> {
        Ok(status(path, &self.ask(path)?))
    }

    fn real_path(&self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        self.ask(path)?;
        Ok(path.strip_prefix(b".").unwrap_or(path).to_vec())
    }

    fn link_target(&self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        self.ask(path)
    }

    fn make_folder(&self, path: &[u8], _: u32) -> Result<(), Errno> {
        self.ask(path).map(drop)
    }

    fn remove(&self, path: &[u8], _: bool) -> Result<(), Errno> {
        self.ask(path).map(drop)
    }

    fn rename(&self, from: &[u8], to: &[u8], _: bool) -> Result<(), Errno> {
        self.ask(from)?;
        self.ask(to).map(drop)
    }

    fn set_mode(&self, path: &[u8], _: u32) -> Result<(), Errno> {
        self.ask(path).map(drop)
    }
}

impl HostOpen for Open {
    fn status(&self) -> Result<HostStatus, Errno> {
        let known = self.host.0.lock().expect("one thread");
        Ok(status(&self.path, &known.files[&self.path]))
    }

    fn read(&self, at: u64, count: usize) -> Result<Vec<u8>, Errno> {
        let known = self.host.0.lock().expect("one thread");
        let rest = known.files[&self.path].iter().skip(at as usize);
        Ok(rest.take(count).copied().collect())
    }

    fn write(&self, at: Option<u64>, bytes: Vec<u8>) -> Result<(u64, u64), Errno> {
        let mut known = self.host.0.lock().expect("one thread");
        let file = known.files.get_mut(&self.path).expect("a file");
        let start = at.map_or(file.len(), |at| at as usize);
        file.resize(file.len().max(start + bytes.len()), 0);
        file[start..start + bytes.len()].copy_from_slice(&bytes);
        Ok((bytes.len() as u64, (start + bytes.len()) as u64))
    }

    fn set_length(&self, bytes: u64) -> Result<(), Errno> {
        let mut known = self.host.0.lock().expect("one thread");
        known
            .files
            .get_mut(&self.path)
            .expect("a file")
            .resize(bytes as usize, 0);
        Ok(())
    }

    fn set_mode(&self, _: u32) -> Result<(), Errno> {
        Ok(())
    }

    fn sync(&self) -> Result<(), Errno> {
        Err(Errno::EIO)
    }

    fn list(&self, at: u64, room: usize) -> Result<Listed, Errno> {
        let entries = vec![0; room.min(24)];
        Ok(Listed {
            entries,
            next: at + 7,
        })
    }
}

fn guest() -> (Guest, Host) {
    let (mut guest, host) = (Guest::new(), Host::default());
    for folder in [".", "a", "a/b", "a/.."] {
        let mut known = host.0.lock().expect("one thread");
        known.files.insert(folder.into(), b"folder".to_vec());
    }
    let granted = Granted::new(Arc::new(host.clone()));
    guest.kernel.vfs_mut().mount_granted("/srv/data", granted);
    (guest, host)
}

impl Guest {
    fn path(&mut self, path: &str) -> u64 {
        self.put(self.scratch, format!("{path}\0").as_bytes());
        self.scratch
    }

    fn on(&mut self, number: u64, path: &str, rest: [u64; 3]) -> i64 {
        let path = self.path(path);
        self.call(number, [path, rest[0], rest[1], rest[2], 0, 0])
    }
}

#[test]
fn the_host_is_asked_for_paths_below_the_folder_alone() {
    let (mut guest, host) = guest();
    assert_eq!(guest.on(number::mkdir, "/tmp/x", [0o700, 0, 0]), 0);
    let link = guest.path("/srv/data/a");
    guest.put(guest.scratch + 100, b"/tmp/link\0");
    assert_eq!(
        guest.call(number::symlink, [link, guest.scratch + 100, 0, 0, 0, 0]),
        0
    );
    let into = guest.scratch + 1024;
    for (path, wanted) in [
        ("/srv/data", "."),
        ("/srv/data/", "."),
        ("/srv/data/.", "."),
        ("/srv/data/a", "a"),
        ("/srv/data/a/", "a/"),
        ("//srv//data//a//b", "a/b"),
        ("/srv/data/./a/../a/b", "a/../a/b"),
        ("/srv/data/a/..", "a/.."),
        ("/srv/../srv/data/a", "a"),
        ("/tmp/link/b", "a/b"),
        ("/tmp/link/../a", "a/../a"),
        ("/srv/data/a/../../data/a", "a"),
    ] {
        let answer = guest.on(number::stat, path, [into, 0, 0]);
        assert_eq!(host.asked(), [wanted], "{path}: {answer}");
    }
    // `..` leads out of it as of any folder, and nobody is asked.
    for path in [
        "/srv/data/..",
        "/srv/data/a/../..",
        "/tmp/link/../../../tmp/x",
        "/srv/data/../../tmp/x",
    ] {
        assert_eq!(guest.on(number::stat, path, [into, 0, 0]), 0, "{path}");
        assert!(host.asked().is_empty());
    }
    for path in ["/srv/data/../none", "/srv/none", "/srv/data/../../none"] {
        assert_eq!(guest.on(number::stat, path, [into, 0, 0]), -2, "{path}");
        assert!(host.asked().is_empty());
    }
    let long = format!("/srv/data/{}", "x".repeat(256));
    assert_eq!(guest.on(number::stat, &long, [into, 0, 0]), -36);
    // Two long ways that a link puts together.
    let deep = "y/".repeat(240);
    assert_eq!(guest.on(number::chdir, "/srv/data/a/b", [0; 3]), 0);
    host.asked();
    assert_eq!(guest.on(number::stat, &format!("{deep}z"), [into, 0, 0]), -2);
    assert_eq!(host.asked(), [format!("a/b/{deep}z")]);
    assert_eq!(guest.on(number::getcwd, "", [100, 0, 0]), 14);
    assert_eq!(guest.get(guest.scratch), *b"/srv/data/a/b\0");
    assert_eq!(guest.on(number::stat, "../../../data/a", [into, 0, 0]), 0);
    guest.kernel.audit().expect("tables that agree");
}

#[test]
fn names_in_it_never_become_names_of_the_tree() {
    let (mut guest, host) = guest();
    let other = guest.scratch + 100;
    guest.put(other, b"/tmp/other\0");
    for (call, rest, wanted) in [
        (number::rename, [other, 0, 0], -18),
        (number::rmdir, [0; 3], -16),
        (number::unlink, [0; 3], -21),
        (number::mkdir, [0o700, 0, 0], 0),
        (number::readlink, [other, 10, 0], 6),
        (number::truncate, [0; 3], 0),
    ] {
        assert_eq!(guest.on(call, "/srv/data", rest), wanted, "{call}");
    }
    let path = guest.path("/srv/data/a/new");
    assert_eq!(guest.call(number::rename, [other, path, 0, 0, 0, 0]), -18);
    assert_eq!(guest.call(number::symlink, [other, path, 0, 0, 0, 0]), -1);
    // Beside it nothing can be made, as ever.
    assert_eq!(guest.on(number::mkdir, "/srv/other", [0o700, 0, 0]), -30);
    host.asked();
    guest.kernel.audit().expect("tables that agree");
}

#[test]
fn a_restore_closes_what_was_opened_and_keeps_what_was_written() {
    let (mut guest, host) = guest();
    let log = guest
        .on(number::open, "/srv/data/log", [0o2101, 0o600, 0])
        .cast_unsigned();
    let write = |guest: &mut Guest, fd: u64, text: &[u8]| {
        guest.put(guest.scratch + 200, text);
        guest.call(
            number::write,
            [fd, guest.scratch + 200, text.len() as u64, 0, 0, 0],
        )
    };
    assert_eq!(write(&mut guest, log, b"boot "), 5);
    assert_eq!(guest.on(number::chdir, "/srv/data/a", [0; 3]), 0);
    let machine = guest.machine.clone();
    let snapshot = guest.kernel.snapshot();
    assert!(snapshot.store(&[]).is_err(), "a file is open");
    for round in 0..3 {
        let new = guest
            .on(number::open, "/srv/data/new", [0o102, 0o600, 0])
            .cast_unsigned();
        assert_eq!(write(&mut guest, new, b"12345"), 5);
        assert_eq!(guest.call(number::lseek, [new, 1, 0, 0, 0, 0]), 1);
        assert_eq!(guest.call(number::read, [new, guest.scratch, 2, 0, 0, 0]), 2);
        assert_eq!(guest.get(guest.scratch), *b"23");
        assert_eq!(guest.call(number::lseek, [new, 0, 1, 0, 0, 0]), 3);
        assert_eq!(guest.call(number::lseek, [new, 0, 2, 0, 0, 0]), 5);
        assert_eq!(
            guest.call(number::fsync, [new, 0, 0, 0, 0, 0]),
            -5,
            "the host's answer"
        );
        assert_eq!(guest.call(number::ftruncate, [new, 2, 0, 0, 0, 0]), 0);
        assert_eq!(write(&mut guest, log, b"again "), 6);
        assert_eq!(guest.on(number::chdir, "/tmp", [0; 3]), 0);
        guest.kernel.audit().expect("tables that agree");
        guest.kernel.restore(&snapshot);
        guest.machine = machine.clone();
        assert!(guest.kernel.differences(&snapshot).is_empty());
        guest.kernel.audit().expect("tables that agree");
        assert_eq!(
            Arc::strong_count(&host.0),
            3,
            "round {round}: a file is open still"
        );
    }
    let known = host.0.lock().expect("one thread");
    assert_eq!(known.files[&b"new"[..]], b"12");
    assert_eq!(known.files[&b"log"[..]], b"boot again again again ");
}

#[test]
fn open_files_of_it_count_as_what_the_host_holds() {
    let limits = Limits {
        held_bytes: 4096,
        ..Limits::default()
    };
    let mut guest = Guest::with(limits, OutputMode::Stream);
    let host = Host::default();
    let granted = Granted::new(Arc::new(host.clone()));
    guest.kernel.vfs_mut().mount_granted("/data", granted);
    let mut opened = Vec::new();
    let errno = loop {
        match guest.on(number::open, "/data/file", [0o102, 0o600, 0]) {
            fd if fd >= 0 => opened.push(fd.cast_unsigned()),
            errno => break errno,
        }
    };
    assert_eq!(errno, -12);
    assert!((5..40).contains(&opened.len()), "{}", opened.len());
    // What was refused is not left open on the host.
    assert_eq!(Arc::strong_count(&host.0), opened.len() + 2);
    guest.kernel.audit().expect("tables that agree");
    for fd in opened {
        assert_eq!(guest.call(number::close, [fd, 0, 0, 0, 0, 0]), 0);
    }
    assert!(guest.on(number::open, "/data/file", [2, 0, 0]) >= 0);
    guest.kernel.audit().expect("tables that agree");
}
