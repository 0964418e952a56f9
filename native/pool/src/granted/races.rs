//! Somebody else changes names, links and mounts while paths are opened: nothing outside of the folder is read or written.
//!
//! ```text
//! granted/way/file     "good"     the attacker changes what `way` is, as often as it can:
//! outside/file         "secret"   a folder, a link to it, a link to outside, one moved away and back, a mount of outside
//! ```

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use mayfly_linux::errno::Errno;
use mayfly_linux::fs::granted::HostFolder;
use mayfly_linux::fs::vfs::Vfs;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::tests::{MAKE, Place, READ};
use crate::spec::mount::show;

/// Tries of each race, each of a dozen calls.
const TRIES: u32 = 1000;

/// Ends the attacker, also where a check fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs the attacker beside `TRIES` tries of all calls, and checks what they met. Gives how often the good file was read, and how often
/// something was refused.
fn race(place: &Place, attack: impl Fn(u64) + Sync) -> (u32, u32) {
    let (over, rounds) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut good, mut refused) = (0, 0);
    thread::scope(|scope| {
        let _end = End(&over);
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                attack(rounds.fetch_add(1, Ordering::Relaxed));
            }
        });
        while rounds.load(Ordering::Relaxed) < 4 {
            thread::yield_now();
        }
        for _ in 0..TRIES {
            match place.folder.open(b"way/file", READ) {
                Ok(file) => match &file.0.read(0, 100).unwrap()[..] {
                    b"good" => good += 1,
                    b"new" => {}
                    other => panic!("read {:?}", String::from_utf8_lossy(other)),
                },
                Err(_) => refused += 1,
            }
            if let Ok(file) = place.folder.open(b"way/sub/../new", MAKE) {
                file.0.write(Some(0), b"new".to_vec()).unwrap();
            }
            for path in [&b"way/sub/../../../outside/file"[..], b"way/../../outside/file"] {
                assert!(place.folder.open(path, READ).is_err());
            }
            if let Ok(status) = place.folder.status(b"way/file", true) {
                assert_eq!(status.bytes, 4, "the secret has 6 bytes");
            }
            let _ = place.folder.set_mode(b"way/file", 0o640);
            let _ = place.folder.make_folder(b"way/made", 0o700);
            let _ = place.folder.rename(b"way/made", b"way/moved", true);
            let _ = place.folder.remove(b"way/moved", true);
            let _ = place.folder.remove(b"way/new", false);
            if let Ok(path) = place.folder.real_path(b"way") {
                assert!(!path.starts_with(b"/") && !path.starts_with(b".."));
            }
        }
    });
    assert!(rounds.load(Ordering::Relaxed) > 10, "the attacker did not run");
    (good, refused)
}

/// Nothing came to `outside`, and what was there is as it was.
fn check_outside(place: &Place) {
    let outside = place.path.join("outside");
    let mut names: Vec<_> = fs::read_dir(&outside)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["file", "secret", "sub"]);
    assert_eq!(fs::read(outside.join("file")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(outside.join("sub")).unwrap().count(), 0);
    let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(outside.join("file")).unwrap());
    assert_eq!(mode & 0o777, 0o604, "its bits were changed");
}

fn place() -> Place {
    let place = Place::new(1 << 20, 1 << 20);
    fs::create_dir_all(place.inside("way/sub")).unwrap();
    fs::write(place.inside("way/file"), "good").unwrap();
    let outside = place.path.join("outside");
    fs::create_dir(outside.join("sub")).unwrap();
    fs::write(outside.join("file"), "secret").unwrap();
    let bits = std::os::unix::fs::PermissionsExt::from_mode(0o604);
    fs::set_permissions(outside.join("file"), bits).unwrap();
    place
}

fn exchange(one: &Path, other: &Path) {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

#[test]
fn links_that_come_and_go_lead_nowhere_else() {
    let place = place();
    symlink("../outside", place.inside("link")).unwrap();
    symlink(place.path.join("outside"), place.inside("absolute")).unwrap();
    let (way, links) = (
        place.inside("way"),
        ["link", "absolute"].map(|name| place.inside(name)),
    );
    let (good, refused) = race(&place, |round| exchange(&way, &links[(round / 2 % 2) as usize]));
    check_outside(&place);
    assert!(good > 0 && refused > 0, "{good} reads, {refused} refusals");
}

#[test]
fn a_last_name_that_becomes_a_link_leads_nowhere_else() {
    let place = place();
    symlink("../../outside/file", place.inside("way/link")).unwrap();
    let (file, link) = (place.inside("way/file"), place.inside("way/link"));
    let (good, refused) = race(&place, |_| exchange(&file, &link));
    check_outside(&place);
    assert!(good > 0 && refused > 0, "{good} reads, {refused} refusals");
}

#[test]
fn folders_that_are_moved_out_take_nothing_with_them() {
    let place = place();
    // Out of the granted folder and back: `..` in it leads to another place each time.
    fs::create_dir_all(place.path.join("away")).unwrap();
    let (way, away) = (place.inside("way"), place.path.join("away/way"));
    let (good, _) = race(&place, |round| match round % 2 {
        0 => fs::rename(&way, &away).unwrap(),
        _ => fs::rename(&away, &way).unwrap(),
    });
    check_outside(&place);
    assert!(good > 0);
}

#[test]
fn mounts_that_come_and_go_lead_nowhere_else() {
    // In a name space of its own; mounting is root's.
    let done = thread::spawn(|| {
        // SAFETY: it changes what this thread, and those that it starts, have mounted.
        if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
            println!(
                "SKIPPED: mounting is refused: {}",
                std::io::Error::last_os_error()
            );
            return;
        }
        let root = c"/";
        // SAFETY: the path ends in a NUL; nothing else is read.
        let private = unsafe {
            libc::mount(
                root.as_ptr(),
                root.as_ptr(),
                std::ptr::null(),
                libc::MS_REC | libc::MS_PRIVATE,
                std::ptr::null(),
            )
        };
        assert_eq!(private, 0);
        let place = place();
        let path = |path: &Path| {
            std::ffi::CString::new(path.to_path_buf().into_os_string().into_encoded_bytes()).unwrap()
        };
        let (way, outside) = (path(&place.inside("way")), path(&place.path.join("outside")));
        let (good, refused) = race(&place, |round| {
            let done = match round % 2 {
                // SAFETY: the paths end in a NUL; nothing else is read.
                0 => unsafe {
                    libc::mount(
                        outside.as_ptr(),
                        way.as_ptr(),
                        std::ptr::null(),
                        libc::MS_BIND,
                        std::ptr::null(),
                    )
                },
                // SAFETY: as above.
                _ => unsafe { libc::umount2(way.as_ptr(), libc::MNT_DETACH) },
            };
            assert_eq!(done, 0);
        });
        // SAFETY: as above.
        unsafe { libc::umount2(way.as_ptr(), libc::MNT_DETACH) };
        check_outside(&place);
        assert!(good > 0 && refused > 0, "{good} reads, {refused} refusals");
    });
    done.join().unwrap();
}

#[test]
fn a_folder_that_is_read_whole_shows_nothing_from_outside() {
    let place = place();
    symlink("../outside", place.inside("link")).unwrap();
    let (way, link) = (place.inside("way"), place.inside("link"));
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let _end = End(&over);
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                exchange(&way, &link);
            }
        });
        let mut whole = 0;
        for _ in 0..TRIES {
            let mut vfs = Vfs::new(1 << 20, 1000);
            // What vanishes on the way is an error of the boot.
            let Ok(()) = show("/shown", &place.path.join("granted"), &mut vfs) else {
                continue;
            };
            whole += 1;
            for path in ["/shown/way/file", "/shown/link/file"] {
                let found = vfs.resolve(mayfly_linux::fs::vfs::ROOT, path.as_bytes(), true);
                match found.map(|found| found.node) {
                    Ok(Some(node)) => assert_eq!(&*vfs.part(node, 0, 100).unwrap(), b"good"),
                    Ok(None) | Err(Errno::ENOENT | Errno::ENOTDIR) => {}
                    Err(other) => panic!("{other:?}"),
                }
            }
        }
        assert!(whole > 0);
    });
}
