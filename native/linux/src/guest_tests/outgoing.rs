//! Connections to the outside: who may begin one, what the guest is told on the way, and what a reset leaves.

use std::sync::Arc;

use super::*;
use crate::errno::Errno;
use crate::fs::files::{DIALED_MAX, HostEnd};
use crate::net::address::{Address, Domain};
use crate::net::permits::Permits;

const NONBLOCK: u64 = 0o4000;
const SOCKET: u64 = 1;
const SO_ERROR: u64 = 4;

/// Lets a guest connect to port 80 of any host.
#[derive(Debug)]
struct Web;

impl Permits for Web {
    fn permit(&self, to: &Address) -> Result<(), Errno> {
        match to.port() {
            Some(80) => Ok(()),
            _ => Err(Errno::EACCES),
        }
    }
}

fn guest() -> Guest {
    let limits = Limits {
        sockets: 200,
        ..Limits::default()
    };
    let mut guest = Guest::with(limits, OutputMode::Stream);
    guest.kernel.serve_host();
    guest.kernel.set_permits(Some(Arc::new(Web)));
    guest
}

fn error(errno: Errno) -> i64 {
    errno.as_result().cast_signed()
}

fn away(port: u16) -> Address {
    Address::V4([192, 0, 2, 1], port)
}

fn socket(guest: &mut Guest, flags: u64) -> u64 {
    guest
        .call(number::socket, [2, 1 | flags, 0, 0, 0, 0])
        .cast_unsigned()
}

fn connect(guest: &mut Guest, fd: u64, to: &Address) -> i64 {
    guest.put(guest.scratch, &to.to_bytes());
    guest.call(number::connect, [fd, guest.scratch, 16, 0, 0, 0])
}

/// What `poll` says of a descriptor now.
fn poll(guest: &mut Guest, fd: u64) -> u16 {
    // Everything but what is always told.
    guest.put(
        guest.scratch,
        &[(fd as u32).to_le_bytes(), 0x2007_u32.to_le_bytes()].concat(),
    );
    guest.call(number::poll, [guest.scratch, 1, 0, 0, 0, 0]);
    u16::from_le_bytes(guest.get::<8>(guest.scratch)[6..8].try_into().expect("two bytes"))
}

fn socket_error(guest: &mut Guest, fd: u64) -> u32 {
    let (value, length) = (guest.scratch, guest.scratch + 8);
    guest.put(length, &4_u32.to_le_bytes());
    assert_eq!(
        guest.call(number::getsockopt, [fd, SOCKET, SO_ERROR, value, length, 0]),
        0
    );
    u32::from_le_bytes(guest.get(value))
}

/// A connection that the guest began without waiting.
fn begun(guest: &mut Guest) -> (u64, HostEnd) {
    let fd = socket(guest, NONBLOCK);
    assert_eq!(connect(guest, fd, &away(80)), error(Errno::EINPROGRESS));
    let dialed = guest.kernel.take_dialed();
    assert_eq!((dialed.len(), &dialed[0].1), (1, &away(80)));
    assert!(guest.kernel.take_dialed().is_empty(), "it is told once");
    guest.kernel.audit().expect("tables that agree");
    (fd, dialed[0].0)
}

#[test]
fn who_is_not_permitted_learns_nothing_of_the_outside() {
    let mut guest = guest();
    let fd = socket(&mut guest, 0);
    assert_eq!(connect(&mut guest, fd, &away(81)), error(Errno::EACCES));
    // Its own address, on which nothing of its own listens.
    assert_eq!(
        connect(&mut guest, fd, &Domain::V4.loopback(81)),
        error(Errno::ECONNREFUSED)
    );
    guest.kernel.set_permits(None);
    assert_eq!(connect(&mut guest, fd, &away(80)), error(Errno::ENETUNREACH));
    assert_eq!(
        connect(&mut guest, fd, &Domain::V4.loopback(80)),
        error(Errno::ECONNREFUSED)
    );
    assert!(guest.kernel.take_dialed().is_empty());
    guest.kernel.audit().expect("tables that agree");
}

#[test]
fn a_socket_of_ipv6_connects_to_both_kinds_of_addresses() {
    let mut guest = guest();
    let scratch = guest.scratch;
    let far = Address::V6([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 80);
    for (to, host) in [
        (far.clone(), far),
        (away(80).seen_by(Domain::V6), away(80)),
        (Domain::V6.loopback(80), Domain::V6.loopback(80)),
        // All addresses are the guest's own, which is the host's where nothing of the guest's listens.
        (Domain::V6.unnamed().with_port(80), Domain::V6.loopback(80)),
    ] {
        let fd = guest
            .call(number::socket, [10, 1 | NONBLOCK, 0, 0, 0, 0])
            .cast_unsigned();
        guest.put(scratch, &to.to_bytes());
        let begun = guest.call(number::connect, [fd, scratch, 28, 0, 0, 0]);
        assert_eq!(begun, error(Errno::EINPROGRESS));
        let (end, dialed) = guest.kernel.take_dialed().remove(0);
        assert_eq!(dialed, host);
        guest.kernel.host_establish(end);
        guest.put(scratch, &28_u32.to_le_bytes());
        assert_eq!(
            guest.call(number::getpeername, [fd, scratch + 8, scratch, 0, 0, 0]),
            0
        );
        assert_eq!(
            guest.get::<28>(scratch + 8)[..],
            host.seen_by(Domain::V6).to_bytes()[..]
        );
    }
    guest.kernel.audit().expect("tables that agree");
}

#[test]
fn what_listens_in_the_guest_goes_before_the_outside() {
    let mut guest = guest();
    let listener = socket(&mut guest, 0);
    guest.put(guest.scratch, &Domain::V4.loopback(80).to_bytes());
    assert_eq!(
        guest.call(number::bind, [listener, guest.scratch, 16, 0, 0, 0]),
        0
    );
    assert_eq!(guest.call(number::listen, [listener, 5, 0, 0, 0, 0]), 0);
    let fd = socket(&mut guest, 0);
    assert_eq!(connect(&mut guest, fd, &Domain::V4.loopback(80)), 0);
    assert!(guest.kernel.take_dialed().is_empty());
}

#[test]
fn a_connection_under_way_is_neither_ready_nor_named() {
    let mut guest = guest();
    let (fd, end) = begun(&mut guest);
    let scratch = guest.scratch;
    assert_eq!(poll(&mut guest, fd), 0);
    assert_eq!(connect(&mut guest, fd, &away(80)), error(Errno::EALREADY));
    assert_eq!(
        guest.call(number::read, [fd, scratch, 1, 0, 0, 0]),
        error(Errno::EAGAIN)
    );
    assert_eq!(
        guest.call(number::write, [fd, scratch, 1, 0, 0, 0]),
        error(Errno::EAGAIN)
    );
    guest.put(scratch, &16_u32.to_le_bytes());
    assert_eq!(
        guest.call(number::getpeername, [fd, scratch + 8, scratch, 0, 0, 0]),
        error(Errno::ENOTCONN)
    );
    assert_eq!(
        guest.call(number::getsockname, [fd, scratch + 8, scratch, 0, 0, 0]),
        0
    );
    guest.kernel.host_establish(end);
    assert_eq!(poll(&mut guest, fd), 4);
    assert_eq!(socket_error(&mut guest, fd), 0);
    assert_eq!(connect(&mut guest, fd, &away(80)), 0);
    assert_eq!(connect(&mut guest, fd, &away(80)), error(Errno::EISCONN));
    guest.put(scratch, &16_u32.to_le_bytes());
    assert_eq!(
        guest.call(number::getpeername, [fd, scratch + 8, scratch, 0, 0, 0]),
        0
    );
    assert_eq!(guest.get::<16>(scratch + 8)[..], away(80).to_bytes()[..]);
    // Both ways, and the end of the other side.
    assert_eq!(
        guest.act(number::write, [fd, scratch, 8, 0, 0, 0]),
        Action::Connection
    );
    assert_eq!(guest.kernel.host_receive_some(end, 5).len(), 5);
    assert!(guest.kernel.host_has_bytes(end));
    assert_eq!(guest.kernel.host_receive_some(end, 5).len(), 3);
    assert_eq!(guest.kernel.host_send(end, b"said"), 4);
    guest.kernel.host_finish(end);
    assert_eq!(guest.call(number::read, [fd, scratch, 9, 0, 0, 0]), 4);
    assert_eq!(guest.call(number::read, [fd, scratch, 9, 0, 0, 0]), 0);
    assert!(!guest.kernel.host_is_left(end) && !guest.kernel.host_ended(end));
    assert_eq!(
        guest.act(number::shutdown, [fd, 1, 0, 0, 0, 0]),
        Action::Connection
    );
    assert!(guest.kernel.host_receive_some(end, 1).is_empty());
    assert!(!guest.kernel.host_is_left(end) && guest.kernel.host_ended(end));
    assert_eq!(guest.act(number::close, [fd, 0, 0, 0, 0, 0]), Action::Connection);
    assert!(guest.kernel.host_is_left(end));
    guest.kernel.host_close(end);
    guest.kernel.audit().expect("tables that agree");
    assert!(guest.kernel.host_ends().is_empty());
}

#[test]
fn one_that_cannot_be_made_is_told_once_and_the_socket_connects_again() {
    let mut guest = guest();
    let (fd, end) = begun(&mut guest);
    guest.kernel.host_fail(end, Errno::EHOSTUNREACH);
    guest.kernel.audit().expect("tables that agree");
    assert_eq!(poll(&mut guest, fd), 0x201d);
    assert_eq!(socket_error(&mut guest, fd), Errno::EHOSTUNREACH.0.into());
    assert_eq!(socket_error(&mut guest, fd), 0);
    assert_eq!(connect(&mut guest, fd, &away(80)), error(Errno::EINPROGRESS));
    let (end, _) = guest.kernel.take_dialed()[0];
    guest.kernel.host_fail(end, Errno::ECONNREFUSED);
    assert_eq!(connect(&mut guest, fd, &away(80)), error(Errno::ECONNREFUSED));
    assert_eq!(connect(&mut guest, fd, &away(80)), error(Errno::EINPROGRESS));
    guest.kernel.audit().expect("tables that agree");
}

#[test]
fn one_that_breaks_is_told_behind_what_came_before() {
    let mut guest = guest();
    let (fd, end) = begun(&mut guest);
    guest.kernel.host_establish(end);
    guest.kernel.host_send(end, b"part");
    guest.kernel.host_fail(end, Errno::ECONNRESET);
    assert!(guest.kernel.host_ends().is_empty());
    let scratch = guest.scratch;
    assert_ne!(poll(&mut guest, fd) & 8, 0, "POLLERR");
    assert_eq!(guest.call(number::read, [fd, scratch, 9, 0, 0, 0]), 4);
    assert_eq!(
        guest.call(number::read, [fd, scratch, 9, 0, 0, 0]),
        error(Errno::ECONNRESET)
    );
    assert_eq!(guest.call(number::read, [fd, scratch, 9, 0, 0, 0]), 0);
    let (fd, end) = begun(&mut guest);
    guest.kernel.host_establish(end);
    guest.kernel.host_fail(end, Errno::ETIMEDOUT);
    // Without a signal the first time.
    assert_eq!(
        guest.call(number::sendto, [fd, scratch, 9, 0x4000, 0, 0]),
        error(Errno::ETIMEDOUT)
    );
    assert_eq!(
        guest.call(number::sendto, [fd, scratch, 9, 0x4000, 0, 0]),
        error(Errno::EPIPE)
    );
    guest.kernel.audit().expect("tables that agree");
}

#[test]
fn a_call_that_waits_for_its_connection_waits_for_the_host() {
    for fails in [false, true] {
        let mut guest = guest();
        let fd = socket(&mut guest, 0);
        guest.put(guest.scratch, &away(80).to_bytes());
        let action = guest.act(number::connect, [fd, guest.scratch, 16, 0, 0, 0]);
        assert_eq!(action, Action::Idle { wait: None });
        let (end, _) = guest.kernel.take_dialed()[0];
        match fails {
            true => guest.kernel.host_fail(end, Errno::ETIMEDOUT),
            false => guest.kernel.host_establish(end),
        }
        assert_eq!(guest.kernel.run(&mut guest.machine), Action::Resume);
        let wanted = if fails { error(Errno::ETIMEDOUT) } else { 0 };
        assert_eq!(guest.result(), wanted);
        guest.kernel.audit().expect("tables that agree");
    }
}

#[test]
fn one_that_the_guest_left_before_it_was_made_is_left() {
    let mut guest = guest();
    for establishes in [false, true] {
        let (fd, end) = begun(&mut guest);
        guest.act(number::close, [fd, 0, 0, 0, 0, 0]);
        assert!(guest.kernel.host_is_left(end));
        match establishes {
            true => guest.kernel.host_establish(end),
            false => guest.kernel.host_fail(end, Errno::ETIMEDOUT),
        }
        guest.kernel.host_close(end);
        guest.kernel.audit().expect("tables that agree");
    }
    assert!(guest.kernel.host_ends().is_empty());
}

#[test]
fn there_are_as_many_as_the_bound_says_and_the_host_has_its_own() {
    let mut guest = guest();
    let mut ends = Vec::new();
    for _ in 0..DIALED_MAX {
        ends.push(begun(&mut guest).1);
    }
    let fd = socket(&mut guest, NONBLOCK);
    assert_eq!(connect(&mut guest, fd, &away(80)), error(Errno::EADDRNOTAVAIL));
    guest.kernel.host_fail(ends[0], Errno::ETIMEDOUT);
    assert_eq!(connect(&mut guest, fd, &away(80)), error(Errno::EINPROGRESS));
    assert_eq!(guest.kernel.take_dialed().len(), 1);
    // The host still connects to the guest.
    let listener = socket(&mut guest, 0);
    guest.put(guest.scratch, &Domain::V4.loopback(99).to_bytes());
    guest.call(number::bind, [listener, guest.scratch, 16, 0, 0, 0]);
    guest.call(number::listen, [listener, 5, 0, 0, 0, 0]);
    guest.kernel.host_connect(&Domain::V4.loopback(99)).expect("room");
    guest.kernel.audit().expect("tables that agree");
}

#[test]
fn a_reset_leaves_nothing_of_them() {
    let mut guest = guest();
    let snapshot = guest.kernel.snapshot();
    for state in 0..4 {
        let (fd, end) = begun(&mut guest);
        match state {
            1 => guest.kernel.host_establish(end),
            2 => guest.kernel.host_fail(end, Errno::ETIMEDOUT),
            3 => {
                guest.kernel.host_establish(end);
                guest.kernel.host_send(end, &[1; 30_000]);
                guest.act(number::write, [fd, guest.scratch, 1000, 0, 0, 0]);
            }
            _ => {}
        }
        guest.kernel.restore(&snapshot);
        let differences = guest.kernel.differences(&snapshot);
        assert!(!differences.contains(&"open files"), "{differences:?}");
        assert!(guest.kernel.host_ends().is_empty() && guest.kernel.take_dialed().is_empty());
        guest.kernel.audit().expect("tables that agree");
    }
}
