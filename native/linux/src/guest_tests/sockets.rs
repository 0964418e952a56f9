//! Sockets: their bounds, what the host holds for them, and the host as a client.

use super::*;
use crate::errno::Errno;
use crate::fs::files::{HOST_ENDS_MAX, HostEnd};
use crate::net::address::{Address, Domain};
use crate::net::socket::BACKLOG_MAX;

const NONBLOCK: u64 = 0o4000;

fn error(errno: Errno) -> i64 {
    errno.as_result().cast_signed()
}

fn guest(sockets: usize) -> Guest {
    let limits = Limits {
        sockets,
        ..Limits::default()
    };
    Guest::with(limits, OutputMode::Stream)
}

/// A socket that listens on a port of 127.0.0.1.
fn listener(guest: &mut Guest, port: u16, backlog: u64) -> u64 {
    let fd = guest
        .call(number::socket, [2, 1 | NONBLOCK, 0, 0, 0, 0])
        .cast_unsigned();
    let name = Address::V4([127, 0, 0, 1], port).to_bytes();
    guest.put(guest.scratch, &name);
    assert_eq!(guest.call(number::bind, [fd, guest.scratch, 16, 0, 0, 0]), 0);
    assert_eq!(guest.call(number::listen, [fd, backlog, 0, 0, 0, 0]), 0);
    fd
}

fn connect(guest: &mut Guest, port: u16) -> i64 {
    let fd = guest.call(number::socket, [2, 1 | NONBLOCK, 0, 0, 0, 0]);
    if fd < 0 {
        return fd;
    }
    guest.put(guest.scratch, &Address::V4([127, 0, 0, 1], port).to_bytes());
    guest.call(number::connect, [fd.cast_unsigned(), guest.scratch, 16, 0, 0, 0])
}

fn accept(guest: &mut Guest, fd: u64) -> i64 {
    guest.call(number::accept4, [fd, 0, 0, NONBLOCK, 0, 0])
}

fn to(port: u16) -> Address {
    Domain::V4.loopback(port)
}

#[test]
fn a_guest_without_sockets_is_refused_a_network() {
    let mut guest = guest(0);
    for domain in [1, 2, 10] {
        assert_eq!(
            guest.call(number::socket, [domain, 1, 0, 0, 0, 0]),
            error(Errno::EAFNOSUPPORT)
        );
    }
    assert!(!guest.kernel.take_denials().is_empty());
}

#[test]
fn sockets_and_those_that_wait_are_counted_at_the_limit() {
    let mut guest = guest(5);
    listener(&mut guest, 80, 128);
    // Two connections are four sockets.
    for _ in 0..2 {
        assert_eq!(connect(&mut guest, 80), error(Errno::EINPROGRESS));
    }
    guest.kernel.audit().expect("tables that agree");
    assert_eq!(connect(&mut guest, 80), error(Errno::ENFILE));
    guest.call(number::close, [4, 0, 0, 0, 0, 0]);
    // The end that waits is still there.
    assert_eq!(connect(&mut guest, 80), error(Errno::ENFILE));
    // With the listener goes what waits at it.
    guest.call(number::close, [3, 0, 0, 0, 0, 0]);
    guest.kernel.audit().expect("tables that agree");
    // The client that was refused and the one whose other end is gone are sockets still.
    for _ in 0..3 {
        assert!(guest.call(number::socket, [2, 1, 0, 0, 0, 0]) >= 0);
    }
    assert_eq!(
        guest.call(number::socket, [2, 1, 0, 0, 0, 0]),
        error(Errno::ENFILE)
    );
}

#[test]
fn as_many_wait_as_the_backlog_says_and_no_more_than_the_bound() {
    for (backlog, most) in [(0, 1), (3, 3), (u64::MAX, BACKLOG_MAX)] {
        let mut guest = guest(1000);
        let fd = listener(&mut guest, 80, backlog);
        for _ in 0..most {
            assert_eq!(connect(&mut guest, 80), error(Errno::EINPROGRESS));
        }
        assert_eq!(connect(&mut guest, 80), error(Errno::EAGAIN), "{backlog}");
        assert!(accept(&mut guest, fd) >= 0);
        assert_eq!(connect(&mut guest, 80), error(Errno::EINPROGRESS));
        guest.kernel.audit().expect("tables that agree");
    }
}

#[test]
fn sockets_are_paid_from_the_bytes_that_the_host_holds() {
    let limits = Limits {
        sockets: 1000,
        held_bytes: 20_000,
        ..Limits::default()
    };
    let mut guest = Guest::with(limits, OutputMode::Stream);
    let made = (0..100)
        .take_while(|_| guest.call(number::socket, [2, 1, 0, 0, 0, 0]) >= 0)
        .count();
    assert!((1..20_000 / 1000).contains(&made), "{made}");
    assert_eq!(
        guest.call(number::socket, [2, 1, 0, 0, 0, 0]),
        error(Errno::ENOMEM)
    );
    guest.kernel.audit().expect("tables that agree");
}

/// The guest waits in an epoll set for what listens; the host connects and asks.
fn asked(guest: &mut Guest) -> (u64, HostEnd) {
    guest.kernel.serve_host();
    let fd = listener(guest, 80, 10);
    let epoll = guest.call(number::epoll_create1, [0; 6]).cast_unsigned();
    guest.put(guest.scratch, &[1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        guest.call(number::epoll_ctl, [epoll, 1, fd, guest.scratch, 0, 0]),
        0
    );
    let action = guest.act(number::epoll_wait, [epoll, guest.scratch, 4, u64::MAX, 0, 0]);
    assert_eq!(action, Action::Idle { wait: None });
    assert_eq!(guest.kernel.listening(), [to(80)]);
    let end = guest.kernel.host_connect(&to(80)).expect("a listener");
    assert_eq!(guest.kernel.host_send(end, b"question"), 8);
    assert_eq!(guest.kernel.run(&mut guest.machine), Action::Resume);
    assert_eq!(guest.result(), 1);
    (fd, end)
}

#[test]
fn the_host_connects_asks_and_is_told_of_the_answer_and_the_end() {
    let mut guest = guest(100);
    let (fd, end) = asked(&mut guest);
    let accepted = accept(&mut guest, fd).cast_unsigned();
    let scratch = guest.scratch;
    assert_eq!(guest.call(number::read, [accepted, scratch, 100, 0, 0, 0]), 8);
    assert_eq!(guest.get(scratch), *b"question");
    let wrote = guest.act(number::write, [accepted, scratch, 8, 0, 0, 0]);
    assert_eq!((wrote, guest.result()), (Action::Connection, 8));
    assert_eq!(guest.kernel.host_receive(end), b"question");
    assert!(!guest.kernel.host_ended(end));
    // Told once: what comes next is not about it.
    assert_eq!(guest.act(number::getpid, [0; 6]), Action::Resume);
    assert_eq!(
        guest.act(number::close, [accepted, 0, 0, 0, 0, 0]),
        Action::Connection
    );
    assert!(guest.kernel.host_ended(end));
    guest.kernel.host_close(end);
    guest.kernel.host_close(end);
    guest.kernel.audit().expect("tables that agree");
}

#[test]
fn a_reset_leaves_nothing_of_a_connection() {
    let mut guest = guest(100);
    guest.kernel.serve_host();
    listener(&mut guest, 80, 10);
    let snapshot = guest.kernel.snapshot();
    for closes in [false, true] {
        let end = guest.kernel.host_connect(&to(80)).expect("a listener");
        guest.kernel.host_send(end, &[b'x'; 40_000]);
        assert_eq!(guest.kernel.differences(&snapshot), ["open files"]);
        let accepted = accept(&mut guest, 3).cast_unsigned();
        guest.act(number::write, [accepted, guest.scratch, 100, 0, 0, 0]);
        if closes {
            guest.kernel.host_close(end);
        }
        guest.kernel.restore(&snapshot);
        // The machine of these tests is not reset: what the guest's memory and registers hold is not looked at.
        let differences = guest.kernel.differences(&snapshot);
        assert!(!differences.contains(&"open files"), "{differences:?}");
        assert!(guest.kernel.host_ends().is_empty());
        guest.kernel.audit().expect("tables that agree");
    }
}

#[test]
fn the_host_has_a_bound_and_what_does_not_listen_refuses_it() {
    let mut guest = guest(100);
    assert_eq!(guest.kernel.host_connect(&to(80)), Err(Errno::ECONNREFUSED));
    listener(&mut guest, 80, 128);
    for _ in 0..HOST_ENDS_MAX {
        guest.kernel.host_connect(&to(80)).expect("room");
    }
    assert_eq!(guest.kernel.host_connect(&to(80)), Err(Errno::EMFILE));
    for end in guest.kernel.host_ends() {
        guest.kernel.host_close(end);
    }
    guest.kernel.host_connect(&to(80)).expect("room again");
    assert_eq!(guest.kernel.host_connect(&to(81)), Err(Errno::ECONNREFUSED));
    guest.kernel.audit().expect("tables that agree");
}

#[test]
fn the_host_fills_a_connection_as_far_as_there_is_room() {
    let mut guest = guest(100);
    guest.kernel.serve_host();
    let fd = listener(&mut guest, 80, 128);
    let end = guest.kernel.host_connect(&to(80)).expect("a listener");
    assert_eq!(guest.kernel.host_send(end, &[1; 100_000]), 65_536);
    assert_eq!(guest.kernel.host_send(end, &[1; 100_000]), 0);
    let accepted = accept(&mut guest, fd).cast_unsigned();
    assert_eq!(
        guest.call(number::read, [accepted, guest.scratch, 4096, 0, 0, 0]),
        4096
    );
    assert_eq!(guest.kernel.host_send(end, &[1; 100_000]), 4096);
}
