//! What a granted folder lets be done, and within which bounds, without a machine.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, MutexGuard};

use mayfly_linux::errno::Errno;
use mayfly_linux::fs::granted::{HostFolder, HostOpened, How};

use super::broker::Broker;
use super::folder::{Folder, Root};
use super::ledger::{Ledger, OPEN_MAX};
use crate::injected::alone;

pub(super) const READ: How = How {
    read: true,
    write: false,
    create: false,
    exclusive: false,
    truncate: false,
    folder: false,
    no_link: false,
    mode: 0o600,
};
pub(super) const MAKE: How = How {
    write: true,
    create: true,
    ..READ
};

/// A folder `granted` beside a folder `outside` with a file in it; both gone at the end.
pub(super) struct Place {
    pub path: PathBuf,
    pub folder: Folder,
    ledger: Arc<Ledger>,
    /// Other tests count what the process has open.
    _alone: MutexGuard<'static, ()>,
}

impl Place {
    pub fn new(bytes: u64, files: u64) -> Place {
        let alone = alone();
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("mayfly-granted-{}-{number}", std::process::id()));
        fs::create_dir_all(path.join("granted")).unwrap();
        fs::create_dir_all(path.join("outside")).unwrap();
        fs::write(path.join("outside/secret"), "secret").unwrap();
        let ledger = Arc::new(Ledger::new(bytes, files));
        let root = Root::open(&path.join("granted"), &ledger).unwrap();
        let folder = Folder::new(root, &Arc::new(Broker::start().unwrap()));
        Place {
            path,
            folder,
            ledger,
            _alone: alone,
        }
    }

    pub fn inside(&self, name: &str) -> PathBuf {
        self.path.join("granted").join(name)
    }

    fn open(&self, path: &str, how: How) -> Result<HostOpened, Errno> {
        self.folder.open(path.as_bytes(), how)
    }

    /// Bytes, files and open files, once what was closed is counted.
    fn figures(&self) -> (u64, u64, usize) {
        self.folder.status(b".", true).unwrap();
        self.ledger.figures()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What was closed is closed on the other thread too.
        let _ = self.folder.status(b".", true);
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[test]
fn paths_lead_to_what_lies_in_the_folder_alone() {
    let place = Place::new(1000, 100);
    let links = [
        ("absolute", place.path.join("outside/secret")),
        ("above", "../outside/secret".into()),
        ("folder", "../outside".into()),
        ("of-proc", "/proc/self/root".into()),
        ("dangling", "../outside/new".into()),
        ("itself", "itself".into()),
        ("whole", place.path.join("granted/real")),
    ];
    for (name, target) in &links {
        symlink(target, place.inside(name)).unwrap();
    }
    fs::create_dir_all(place.inside("sub/deep")).unwrap();
    fs::write(place.inside("real"), "real").unwrap();
    symlink("../real", place.inside("sub/good")).unwrap();
    let refused = [
        "absolute",
        "above",
        "folder/secret",
        "of-proc",
        "of-proc/etc/passwd",
        "dangling",
        // Absolute links lead from the host's root, which is not in the folder.
        "whole",
        "..",
        "../outside/secret",
        "sub/../../outside/secret",
        "sub/deep/../../../outside/secret",
        "/etc/passwd",
        "//etc/passwd",
    ];
    for path in refused {
        let path_bytes = path.as_bytes();
        for how in [
            READ,
            MAKE,
            How {
                truncate: true,
                ..MAKE
            },
        ] {
            assert_eq!(place.open(path, how).err(), Some(Errno::EACCES), "{path} {how:?}");
        }
        assert_eq!(
            place.folder.status(path_bytes, true),
            Err(Errno::EACCES),
            "{path}"
        );
        assert_eq!(
            place.folder.set_mode(path_bytes, 0o777),
            Err(Errno::EACCES),
            "{path}"
        );
    }
    for path in ["folder/x", "../outside/x", "folder/secret", "/tmp/x"] {
        let path = path.as_bytes();
        assert!(place.folder.make_folder(path, 0o700).is_err());
        assert!(place.folder.remove(path, false).is_err());
        assert!(place.folder.rename(path, b"taken", true).is_err());
        assert!(place.folder.rename(b"real", path, true).is_err());
    }
    assert_eq!(place.open("itself", READ).err(), Some(Errno::ELOOP));
    assert_eq!(place.open("real\0x", READ).err(), Some(Errno::EINVAL));
    let no_link = How {
        no_link: true,
        ..READ
    };
    assert_eq!(place.open("sub/good", no_link).err(), Some(Errno::ELOOP));
    for path in [
        "real",
        "sub/good",
        "sub/../real",
        "./sub/deep/.././../real",
        "sub//good",
    ] {
        let file = place.open(path, READ).unwrap();
        assert_eq!(file.0.read(0, 10).unwrap(), b"real", "{path}");
    }
    // A link may be looked at, moved and removed; what it leads to is not touched.
    assert_eq!(place.folder.link_target(b"above").unwrap(), b"../outside/secret");
    assert_eq!(place.folder.link_target(b"real"), Err(Errno::EINVAL));
    place.folder.rename(b"above", b"moved", true).unwrap();
    place.folder.remove(b"moved", false).unwrap();
    place.folder.remove(b"folder", false).unwrap();
    assert_eq!(place.folder.real_path(b"sub/./deep/..").unwrap(), b"sub");
    assert_eq!(place.folder.real_path(b".").unwrap(), b"");
    assert_eq!(fs::read(place.path.join("outside/secret")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(place.path.join("outside")).unwrap().count(), 1);
}

#[test]
fn what_is_neither_file_nor_folder_is_not_opened() {
    let place = Place::new(1000, 100);
    let _listener = UnixListener::bind(place.inside("socket")).unwrap();
    let fifo = std::ffi::CString::new(place.inside("fifo").into_os_string().into_encoded_bytes()).unwrap();
    // SAFETY: the path ends in a NUL.
    assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
    for path in ["socket", "fifo"] {
        for how in [
            READ,
            MAKE,
            How {
                truncate: true,
                ..READ
            },
        ] {
            assert_eq!(place.open(path, how).err(), Some(Errno::EACCES), "{path}");
        }
        assert_eq!(place.folder.set_mode(path.as_bytes(), 0o777), Err(Errno::EACCES));
        assert!(place.folder.status(path.as_bytes(), true).is_ok());
    }
    assert!(Root::open(&place.inside("socket"), &Arc::new(Ledger::new(0, 0))).is_err());
}

#[test]
fn bits_that_give_rights_to_others_are_not_set() {
    let place = Place::new(1000, 100);
    let mode = |name: &str| fs::metadata(place.inside(name)).unwrap().permissions().mode() & 0o7777;
    let file = place.open("file", How { mode: 0o7700, ..MAKE }).unwrap();
    assert_eq!(mode("file"), 0o700);
    file.0.set_mode(0o6711).unwrap();
    assert_eq!(mode("file"), 0o711);
    place.folder.set_mode(b"file", 0o7600).unwrap();
    assert_eq!(mode("file"), 0o600);
    place.folder.make_folder(b"folder", 0o7700).unwrap();
    assert_eq!(mode("folder") & 0o7000, 0);
}

#[test]
fn bytes_are_bounded_at_one_below_and_one_above() {
    let place = Place::new(100, 100);
    fs::write(place.inside("old"), [1; 50]).unwrap();
    let (old, new) = (place.open("old", MAKE).unwrap(), place.open("new", MAKE).unwrap());
    // What is there already may be written without end.
    for _ in 0..10 {
        assert_eq!(old.0.write(Some(0), vec![2; 50]), Ok((50, 50)));
    }
    assert_eq!(place.figures().0, 0);
    assert_eq!(old.0.write(Some(40), vec![2; 20]), Ok((20, 60)));
    assert_eq!(new.0.write(None, vec![3; 89]), Ok((89, 89)));
    assert_eq!(place.figures().0, 99);
    assert_eq!(
        new.0.write(Some(89), vec![3; 2]),
        Ok((1, 90)),
        "as much as there is room for"
    );
    assert_eq!(new.0.write(Some(90), vec![3]), Err(Errno::ENOSPC));
    assert_eq!(new.0.write(None, vec![3]), Err(Errno::ENOSPC));
    assert_eq!(
        new.0.write(Some(1 << 40), vec![3]),
        Err(Errno::ENOSPC),
        "a hole counts"
    );
    assert_eq!(new.0.set_length(91), Err(Errno::ENOSPC));
    assert_eq!(new.0.write(Some(u64::MAX), vec![3]), Err(Errno::EFBIG));
    assert_eq!(new.0.set_length(80), Ok(()));
    assert_eq!(new.0.write(None, vec![4; 20]), Ok((10, 90)));
    // Room for 60 that were the host's own is not given: the folder never takes more than at the start and the bound.
    place.folder.remove(b"old", false).unwrap();
    drop(old);
    assert_eq!(place.figures().0, 40);
    assert_eq!(fs::metadata(place.inside("new")).unwrap().len(), 90);
}

#[test]
fn a_file_without_a_name_counts_until_it_is_closed() {
    let place = Place::new(100, 100);
    let first = place.open("file", MAKE).unwrap();
    let second = place.open("file", MAKE).unwrap();
    first.0.write(None, vec![1; 60]).unwrap();
    place.folder.remove(b"file", false).unwrap();
    assert_eq!(place.figures(), (60, 0, 2));
    assert_eq!(second.0.write(None, vec![1; 60]), Ok((40, 100)));
    drop(first);
    assert_eq!(place.figures(), (100, 0, 1));
    drop(second);
    assert_eq!(place.figures(), (0, 0, 0));
    // The same where another file takes its name, and where it is cut off when it is opened.
    for name in ["a", "b"] {
        place
            .open(name, MAKE)
            .unwrap()
            .0
            .write(None, vec![1; 50])
            .unwrap();
    }
    assert_eq!(place.figures(), (100, 2, 0));
    place.folder.rename(b"a", b"b", true).unwrap();
    assert_eq!(place.figures(), (50, 1, 0));
    assert_eq!(place.folder.rename(b"b", b"b", false), Err(Errno::EEXIST));
    place.folder.rename(b"b", b"b", true).unwrap();
    assert_eq!(place.figures(), (50, 1, 0));
    drop(
        place
            .open(
                "b",
                How {
                    truncate: true,
                    ..READ
                },
            )
            .unwrap(),
    );
    assert_eq!(place.figures(), (0, 1, 0));
}

#[test]
fn files_and_open_files_are_bounded() {
    let place = Place::new(100, 3);
    for name in ["a", "b"] {
        place.open(name, MAKE).unwrap();
    }
    place.folder.make_folder(b"c", 0o700).unwrap();
    assert_eq!(place.open("d", MAKE).err(), Some(Errno::ENOSPC));
    assert_eq!(place.folder.make_folder(b"d", 0o700), Err(Errno::ENOSPC));
    assert_eq!(place.folder.make_folder(b"c", 0o700), Err(Errno::EEXIST));
    assert!(place.open("a", MAKE).is_ok(), "it is there");
    place.folder.remove(b"a", false).unwrap();
    let exclusive = How {
        exclusive: true,
        ..MAKE
    };
    assert!(place.open("d", exclusive).is_ok());
    assert_eq!(place.open("d", exclusive).err(), Some(Errno::EEXIST));
    let mut open: Vec<HostOpened> = (0..OPEN_MAX).map(|_| place.open("b", READ).unwrap()).collect();
    assert_eq!(place.open("b", READ).err(), Some(Errno::ENFILE));
    open.pop();
    assert!(place.open("b", READ).is_ok());
    drop(open);
    assert_eq!(place.figures().2, 0);
}

#[test]
fn a_listing_is_whole_in_any_room() {
    let place = Place::new(100, 1000);
    for number in 0..300 {
        fs::write(place.inside(&format!("file-{number:03}")), "").unwrap();
    }
    let folder = place.open(".", READ).unwrap();
    for room in [24, 64, 1000, 32_768] {
        let (mut names, mut at) = (Vec::new(), 0);
        loop {
            let listed = match folder.0.list(at, room) {
                // No entry fits.
                Err(errno) => break assert_eq!((errno, room), (Errno::EINVAL, 24)),
                Ok(listed) => listed,
            };
            assert!(listed.entries.len() <= room);
            if listed.entries.is_empty() {
                break;
            }
            let mut rest = &listed.entries[..];
            while !rest.is_empty() {
                let length = usize::from(u16::from_le_bytes([rest[16], rest[17]]));
                let name = String::from_utf8_lossy(&rest[19..length]).into_owned();
                names.push(name.trim_end_matches('\0').to_owned());
                rest = &rest[length..];
            }
            at = listed.next;
        }
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        let all: Vec<String> = (0..300).map(|number| format!("file-{number:03}")).collect();
        assert!(room == 24 || names == all, "{room}: {}", names.len());
    }
}

#[test]
fn a_folder_that_is_none_is_not_granted() {
    let place = Place::new(100, 100);
    let ledger = Arc::new(Ledger::new(0, 0));
    for path in [&place.path.join("outside/secret"), Path::new("/no/such/folder")] {
        assert!(Root::open(path, &ledger).is_err());
    }
}
