//! Opening what lies below a folder, and nothing else, whoever moves names, links and mounts meanwhile.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use mayfly_linux::errno::Errno;
use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};
use rustix::io::Errno as HostErrno;

/// Tries when somebody moves names on the way: the kernel then cannot tell whether it stayed below.
const TRIES: u32 = 64;
/// The kernel lets no path lead out of the folder, over a link of `/proc`, or to another file system.
const WITHIN: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);
/// One name: a link is not followed, wherever it leads. What was mounted there counts.
const ENTRY: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_SYMLINKS);

/// The host's error, as the guest sees it.
pub(super) fn seen(errno: HostErrno) -> Errno {
    match errno {
        // Out of the folder, or over a mount.
        HostErrno::XDEV => Errno::EACCES,
        HostErrno::MFILE => Errno::ENFILE,
        HostErrno::AGAIN | HostErrno::INTR | HostErrno::NOSYS => Errno::EIO,
        other => u16::try_from(other.raw_os_error()).map_or(Errno::EIO, Errno),
    }
}

fn open_within(
    folder: impl AsFd,
    path: &[u8],
    flags: OFlags,
    mode: Mode,
    resolve: ResolveFlags,
) -> rustix::io::Result<OwnedFd> {
    let mut tries = 0;
    loop {
        tries += 1;
        match openat2(folder.as_fd(), path, flags | OFlags::CLOEXEC, mode, resolve) {
            Err(HostErrno::AGAIN | HostErrno::INTR) if tries < TRIES => {}
            other => return other,
        }
    }
}

/// Opens what a path below a granted folder leads to.
pub(super) fn open_beneath(
    folder: impl AsFd,
    path: &[u8],
    flags: OFlags,
    mode: u32,
) -> Result<OwnedFd, Errno> {
    // openat2 refuses a mode where nothing is made.
    let mode = match flags.contains(OFlags::CREATE) {
        true => Mode::from_raw_mode(mode & 0o777),
        false => Mode::empty(),
    };
    open_within(folder, path, flags, mode, WITHIN).map_err(seen)
}

/// Opens an entry of a folder by its name, as a name only: a link is that itself.
pub(crate) fn open_entry(folder: impl AsFd, name: &[u8]) -> std::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW;
    Ok(open_within(folder, name, flags, Mode::empty(), ENTRY)?)
}

/// Opens what is already known by name for its content. `/proc` leads to that very file, whatever its name leads to by now.
pub(crate) fn reopen(named: &OwnedFd, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    open(
        way_to(named),
        flags | OFlags::CLOEXEC | OFlags::NOCTTY,
        Mode::empty(),
    )
}

/// A path that leads to an open file, for as long as it is open.
pub(crate) fn way_to(named: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", named.as_raw_fd())
}
