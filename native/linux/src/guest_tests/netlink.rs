//! Netlink: what a guest learns of its interfaces, and the bounds of asking.

use super::*;
use crate::errno::Errno;

const RAW: u64 = 3;
const NONBLOCK: u64 = 0o4000;
const GET_LINK: u16 = 18;
const GET_ADDRESS: u16 = 22;
const ALL: u16 = 0x301;

fn guest(sockets: usize) -> Guest {
    let limits = Limits {
        sockets,
        ..Limits::default()
    };
    Guest::with(limits, OutputMode::Stream)
}

fn error(errno: Errno) -> i64 {
    errno.as_result().cast_signed()
}

fn open(guest: &mut Guest) -> u64 {
    let fd = guest.call(number::socket, [16, RAW | NONBLOCK, 0, 0, 0, 0]);
    assert!(fd >= 0, "{fd}");
    fd.cast_unsigned()
}

fn question(kind: u16, flags: u16, sequence: u32, family: u8) -> Vec<u8> {
    let mut bytes = 17_u32.to_le_bytes().to_vec();
    bytes.extend(kind.to_le_bytes());
    bytes.extend(flags.to_le_bytes());
    bytes.extend(sequence.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.push(family);
    bytes
}

fn send(guest: &mut Guest, fd: u64, bytes: &[u8]) -> i64 {
    guest.put(guest.scratch, bytes);
    guest.call(number::sendto, [fd, guest.scratch, bytes.len() as u64, 0, 0, 0])
}

fn receive(guest: &mut Guest, fd: u64, room: u64) -> Result<Vec<u8>, i64> {
    let count = guest.call(number::recvfrom, [fd, guest.scratch, room, 0, 0, 0]);
    let count = usize::try_from(count).map_err(|_| count)?;
    Ok(guest.get::<1024>(guest.scratch)[..count].to_vec())
}

/// Types of the messages of a datagram, each checked to be whole and of the sequence.
fn kinds(datagram: &[u8], sequence: u32) -> Vec<u16> {
    let mut kinds = Vec::new();
    let mut rest = datagram;
    while !rest.is_empty() {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
        assert_eq!(word(8), sequence);
        kinds.push(word(4) as u16);
        rest = &rest[(word(0) as usize).next_multiple_of(4)..];
    }
    kinds
}

#[test]
fn a_guest_has_the_loopback_with_its_two_addresses() {
    let mut guest = guest(4);
    let fd = open(&mut guest);
    assert_eq!(receive(&mut guest, fd, 100), Err(error(Errno::EAGAIN)));
    for (kind, family, wanted) in [
        (GET_LINK, 0, &[16, 3][..]),
        (GET_ADDRESS, 0, &[20, 20, 3]),
        (GET_ADDRESS, 2, &[20, 3]),
        (GET_ADDRESS, 10, &[20, 3]),
        (GET_ADDRESS, 7, &[3]),
    ] {
        assert_eq!(send(&mut guest, fd, &question(kind, ALL, 7, family)), 17);
        let answer = receive(&mut guest, fd, 4096).unwrap();
        assert_eq!(kinds(&answer, 7), wanted);
    }
    guest.kernel.audit().expect("tables that agree");
}

#[test]
fn other_questions_are_answered_by_an_error() {
    let mut guest = guest(4);
    let fd = open(&mut guest);
    // A new link, a route, one link by its number.
    for (kind, flags) in [(16, 5), (26, ALL), (GET_LINK, 1)] {
        send(&mut guest, fd, &question(kind, flags, 9, 0));
        let answer = receive(&mut guest, fd, 4096).unwrap();
        assert_eq!(kinds(&answer, 9), [2]);
        assert_eq!(answer[16..20], (-95_i32).to_le_bytes());
    }
}

#[test]
fn what_is_no_question_is_taken_and_answered_by_nothing() {
    let mut guest = guest(4);
    let fd = open(&mut guest);
    let mut long = question(GET_LINK, ALL, 1, 0);
    long[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut short = question(GET_LINK, ALL, 1, 0);
    short[..4].copy_from_slice(&15_u32.to_le_bytes());
    for bytes in [
        vec![],
        vec![1; 3],
        vec![0; 16],
        long,
        short,
        question(GET_LINK, 0, 1, 0),
    ] {
        assert_eq!(send(&mut guest, fd, &bytes), bytes.len() as i64);
        assert_eq!(receive(&mut guest, fd, 100), Err(error(Errno::EAGAIN)));
    }
}

#[test]
fn questions_that_nobody_reads_the_answers_of_are_bounded() {
    let mut guest = guest(4);
    let fd = open(&mut guest);
    let asked = (0..100)
        .take_while(|&sequence| send(&mut guest, fd, &question(GET_LINK, ALL, sequence, 0)) == 17)
        .count();
    assert_eq!(asked, 8);
    assert_eq!(
        send(&mut guest, fd, &question(GET_LINK, ALL, 9, 0)),
        error(Errno::ENOBUFS)
    );
    let first = receive(&mut guest, fd, 20).unwrap();
    assert_eq!(first.len(), 20, "the rest of a datagram is lost");
    assert_eq!(kinds(&receive(&mut guest, fd, 4096).unwrap(), 1), [16, 3]);
    guest.kernel.audit().expect("tables that agree");
}

#[test]
fn a_long_request_is_taken_whole_and_one_over_the_buffer_is_refused() {
    let mut guest = guest(4);
    let fd = open(&mut guest);
    let mut long = question(GET_LINK, ALL, 7, 0);
    long.resize(300, 0);
    long[..4].copy_from_slice(&300_u32.to_le_bytes());
    assert_eq!(send(&mut guest, fd, &long), 300);
    assert_eq!(kinds(&receive(&mut guest, fd, 1024).unwrap(), 7), [16, 3]);
    // What asks nothing, and behind it a question.
    long[6..8].fill(0);
    long.extend(question(GET_LINK, ALL, 8, 0));
    guest.put(guest.scratch, &long);
    assert_eq!(guest.call(number::write, [fd, guest.scratch, 317, 0, 0, 0]), 317);
    assert_eq!(kinds(&receive(&mut guest, fd, 1024).unwrap(), 8), [16, 3]);
    for call in [number::sendto, number::write] {
        let result = guest.call(call, [fd, guest.scratch, 212_961, 0, 0, 0]);
        assert_eq!(result, error(Errno::EMSGSIZE));
    }
}

#[test]
fn netlink_sockets_are_counted_with_the_others() {
    let mut guest = guest(2);
    let first = open(&mut guest);
    open(&mut guest);
    let third = [16, RAW, 0, 0, 0, 0];
    assert_eq!(guest.call(number::socket, third), error(Errno::ENFILE));
    guest.call(number::close, [first, 0, 0, 0, 0, 0]);
    assert!(guest.call(number::socket, third) >= 0);
    guest.kernel.audit().expect("tables that agree");
    // Other protocols, and streams.
    for (kind, protocol, wanted) in [(RAW, 4, Errno::EPROTONOSUPPORT), (1, 0, Errno::ESOCKTNOSUPPORT)] {
        let call = [16, kind, protocol, 0, 0, 0];
        assert_eq!(guest.call(number::socket, call), error(wanted));
    }
}
