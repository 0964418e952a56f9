//! Requests: idle, one frame in, one frame out, and back to the snapshot.

use mayfly_wire::{Head, Kind};

use super::*;
use crate::action::Stop;
use crate::fs::stdio::{Stdio, StdioLimits, Written};
use crate::kernel::{Request, Snapshot};
use crate::machine::Registers;

fn idle_guest() -> (Guest, Snapshot, MockMachine) {
    let mut guest = Guest::with(
        Limits::default(),
        OutputMode::Framed(mayfly_wire::Limits::default()),
    );
    assert_eq!(
        guest.act(number::read, [0, guest.scratch, 1000, 0, 0, 0]),
        Action::Idle { wait: None }
    );
    let snapshot = guest.kernel.snapshot();
    let machine = guest.machine.clone();
    (guest, snapshot, machine)
}

fn request(input: &[u8]) -> Request {
    Request {
        clock: ClockBase {
            ticks: 1_000_000_000_000,
            ..CLOCK
        },
        seed: [9; 32],
        input: input.to_vec(),
        messages: false,
    }
}

fn answer(guest: &mut Guest, body: &[u8]) -> Action {
    let head = Head {
        kind: Kind::Response,
        header_bytes: 0,
        body_bytes: body.len() as u32,
    };
    let frame = [&head.encode()[..], body].concat();
    guest.put(guest.scratch, &frame);
    guest.act(number::write, [1, guest.scratch, frame.len() as u64, 0, 0, 0])
}

#[test]
fn a_request_is_read_answered_and_forgotten() {
    let (mut guest, snapshot, machine) = idle_guest();
    for round in 0..3 {
        assert_eq!(
            guest
                .kernel
                .begin_request(&mut guest.machine, request(b"request")),
            Action::Resume
        );
        assert_eq!((guest.result(), guest.get(guest.scratch)), (7, *b"request"));
        for call in [number::getpid, number::epoll_create1, number::dup] {
            guest.call(call, [0; 6]);
        }
        guest.call(number::chdir, [guest.scratch, 0, 0, 0, 0, 0]);
        guest.thread();
        assert_eq!(answer(&mut guest, b"body"), Action::Frame);
        let frame = guest.kernel.take_output();
        assert_eq!(&frame[16..], b"body", "{round}");
        guest.kernel.restore(&snapshot);
        guest.machine.clone_from(&machine);
        assert_eq!(guest.kernel.differences(&snapshot), [""; 0]);
    }
}

/// A newline behind an answer is no part of it, in the same call or in one of its own, and no output over the limit. More is refused.
#[test]
fn a_newline_may_follow_an_answer() {
    let (mut guest, snapshot, machine) = idle_guest();
    let body = b"a\nb\n";
    let head = Head {
        kind: Kind::Response,
        header_bytes: 0,
        body_bytes: body.len() as u32,
    };
    let frame = [&head.encode()[..], body].concat();
    for (parts, wanted) in [
        (vec![frame.len() + 1], true),
        (vec![frame.len()], true),
        (vec![3, frame.len() + 1], true),
        (vec![16, frame.len() - 1, frame.len() + 1], true),
        (vec![frame.len() + 2], false),
    ] {
        let mut ask = || {
            guest
                .kernel
                .begin_request(&mut guest.machine, request(b"request"))
        };
        assert_eq!(ask(), Action::Resume);
        let text = [&frame[..], b"\n\n"].concat();
        guest.put(guest.scratch, &text);
        let mut from = 0;
        for end in &parts {
            let call = [1, guest.scratch + from as u64, (end - from) as u64, 0, 0, 0];
            match (*end == *parts.last().unwrap(), wanted) {
                (true, true) => assert_eq!(guest.act(number::write, call), Action::Frame, "{parts:?}"),
                (true, false) => assert!(
                    matches!(guest.act(number::write, call), Action::Stop(Stop::BadFrame(_))),
                    "{parts:?}"
                ),
                (false, _) => assert_eq!(guest.call(number::write, call), (end - from) as i64),
            }
            from = *end;
        }
        if wanted {
            assert_eq!(guest.kernel.take_output(), frame, "{parts:?}");
        }
        guest.kernel.restore(&snapshot);
        guest.machine.clone_from(&machine);
    }
    let limits = StdioLimits {
        output: frame.len(),
        log: 0,
    };
    let mut full = Stdio::new(OutputMode::Framed(mayfly_wire::Limits::default()), limits);
    assert_eq!(full.write(&[&frame[..], b"\n"].concat()), Written::Ready);
    assert_eq!(full.take_output(), frame);
}

#[test]
fn the_monotonic_clock_carries_on_from_the_snapshot_and_realtime_is_the_hosts() {
    let (mut guest, _, _) = idle_guest();
    let before = guest.kernel.now(&mut guest.machine);
    guest.machine.pass(999_000_000_000);
    let later = ClockBase {
        ticks: guest.machine.ticks(),
        realtime: CLOCK.realtime + 5_000,
        ..CLOCK
    };
    guest.kernel.begin_request(
        &mut guest.machine,
        Request {
            clock: later,
            ..request(b"x")
        },
    );
    let after = guest.kernel.now(&mut guest.machine);
    assert!(after - before < 1_000_000, "{}", after - before);
    guest.call(number::clock_gettime, [0, guest.scratch, 0, 0, 0, 0]);
    let words: [u8; 16] = guest.get(guest.scratch);
    let seconds = u64::from_le_bytes(*words.first_chunk().expect("a word"));
    assert_eq!(seconds, CLOCK.realtime / 1_000_000_000);
    // The clock page says the same.
    assert_eq!(
        guest.get(crate::image::vdso::CLOCK_PAGE + 8),
        later.realtime.to_le_bytes()
    );
}

#[test]
fn randomness_follows_the_seed_of_the_request() {
    let (mut guest, snapshot, machine) = idle_guest();
    let mut draw = |seed: u8| {
        guest.kernel.restore(&snapshot);
        guest.machine.clone_from(&machine);
        guest.kernel.begin_request(
            &mut guest.machine,
            Request {
                seed: [seed; 32],
                ..request(b"x")
            },
        );
        guest.call(number::getrandom, [guest.scratch, 16, 0, 0, 0, 0]);
        guest.get::<16>(guest.scratch)
    };
    let (first, second, again) = (draw(1), draw(2), draw(1));
    assert_ne!(first, second);
    assert_eq!(first, again);
    // A page that forks would find empty is not to be had: generators must ask each time.
    assert_eq!(
        guest.call(number::madvise, [guest.scratch, PAGE, 18, 0, 0, 0]),
        -22
    );
}

#[test]
fn a_frame_may_come_in_pieces_but_only_one_and_only_a_frame() {
    let (mut guest, _, _) = idle_guest();
    guest.kernel.begin_request(&mut guest.machine, request(b"x"));
    let head = Head {
        kind: Kind::Response,
        header_bytes: 2,
        body_bytes: 3,
    };
    guest.put(guest.scratch, &[&head.encode()[..], b"{}abc!"].concat());
    let at = guest.scratch;
    assert_eq!(guest.act(number::write, [1, at, 5, 0, 0, 0]), Action::Resume);
    assert_eq!(guest.act(number::write, [1, at + 5, 14, 0, 0, 0]), Action::Resume);
    let mut late = guest.clone();
    assert_eq!(guest.act(number::write, [1, at + 19, 2, 0, 0, 0]), Action::Frame);
    let action = late.act(number::write, [1, at + 19, 3, 0, 0, 0]);
    assert!(matches!(action, Action::Stop(Stop::BadFrame(_))), "{action:?}");
    let (mut guest, _, _) = idle_guest();
    guest.put(guest.scratch, b"no frame");
    let action = guest.act(number::write, [1, guest.scratch, 8, 0, 0, 0]);
    assert!(matches!(action, Action::Stop(Stop::BadFrame(_))), "{action:?}");
}

#[test]
fn an_end_of_input_ends_the_read() {
    let (mut guest, _, _) = idle_guest();
    guest.kernel.end_input();
    assert_eq!(guest.kernel.run(&mut guest.machine), Action::Resume);
    assert_eq!(guest.result(), 0);
}

#[test]
fn an_idle_guest_with_a_timer_tells_when_it_would_wake() {
    let mut guest = Guest::with(Limits::default(), OutputMode::Stream);
    guest.put(guest.scratch, &[0, 0, 0, 0, 1, 0, 0, 0]);
    let action = guest.act(number::poll, [guest.scratch, 1, 5000, 0, 0, 0]);
    let Action::Idle { wait: Some(wait) } = action else {
        panic!("{action:?}")
    };
    assert!((4_900_000_000..=5_000_000_000).contains(&wait), "{wait}");
}

#[test]
fn a_trapped_read_of_the_counter_is_answered_where_clocks_are_coarse() {
    let codes: [(&[u8], u64); 2] = [(&[0x0f, 0x31], 2), (&[0x0f, 0x01, 0xf9], 3)];
    for (code, length) in codes {
        let mut guest = Guest::new();
        let rip = guest.scratch;
        guest.put(rip, code);
        let start = Registers {
            rip,
            rcx: 7,
            ..guest.machine.registers()
        };
        guest.machine.set_registers(&start);
        let fault = |guest: &mut Guest| guest.kernel.fault(&mut guest.machine, 13, 0, 0);
        assert_eq!(
            fault(&mut guest),
            Action::Stop(Stop::Signal(11)),
            "exact clocks: a fault as any other"
        );

        let mut guest = Guest::new();
        guest.put(rip, code);
        let base = ClockBase {
            grain: 1 << 33,
            ..CLOCK
        };
        guest.kernel.begin_request(
            &mut guest.machine,
            Request {
                clock: base,
                seed: [9; 32],
                input: Vec::new(),
                messages: false,
            },
        );
        guest.machine.pass(9 << 32);
        guest.machine.set_registers(&start);
        assert_eq!(fault(&mut guest), Action::Resume);
        let after = guest.machine.registers();
        assert_eq!((after.rax, after.rdx, after.rip), (0, 8, rip + length));
        assert_eq!(after.rcx, if length == 3 { 0 } else { 7 });
    }
}

/// A message of exchange 1.
fn message(body: &[u8]) -> Vec<u8> {
    let head = Head {
        kind: Kind::Message,
        header_bytes: 4,
        body_bytes: body.len() as u32,
    };
    [&head.encode()[..], &[1, 0, 0, 0], body].concat()
}

/// What a guest reads into that says messages by its read.
fn outbox(messages: &[u8]) -> Vec<u8> {
    let head = Head {
        kind: Kind::Outbox,
        header_bytes: 0,
        body_bytes: messages.len() as u32,
    };
    [&head.encode()[..], messages].concat()
}

/// A guest that has a request which may say something.
fn talking_guest(messages: bool) -> Guest {
    let (mut guest, _, _) = idle_guest();
    let begun = guest.kernel.begin_request(
        &mut guest.machine,
        Request {
            messages,
            ..request(b"request")
        },
    );
    assert_eq!(begun, Action::Resume);
    guest
}

fn read_outbox(guest: &mut Guest, bytes: &[u8]) -> Action {
    guest.put(guest.scratch, bytes);
    guest.act(number::read, [0, guest.scratch, 1000, 0, 0, 0])
}

#[test]
fn a_read_says_the_messages_in_its_buffer_once_and_waits() {
    let mut guest = talking_guest(true);
    let said = [message(b"one"), message(b"another")].concat();
    assert_eq!(
        read_outbox(&mut guest, &outbox(&said)),
        Action::Idle { wait: None }
    );
    assert!(guest.kernel.has_said());
    assert_eq!(guest.kernel.take_said(), said);
    guest.kernel.push_input(b"answer".to_vec());
    assert_eq!(guest.kernel.run(&mut guest.machine), Action::Resume);
    assert_eq!((guest.result(), guest.get(guest.scratch)), (6, *b"answer"));
    assert!(!guest.kernel.has_said(), "it is said a second time");
    // What is left of it in the buffer is no outbox any more.
    let again = guest.act(number::read, [0, guest.scratch, 1000, 0, 0, 0]);
    assert_eq!(again, Action::Idle { wait: None });
    assert!(!guest.kernel.has_said());
}

#[test]
fn a_read_that_need_not_wait_tells_what_it_says() {
    let mut guest = talking_guest(true);
    guest.kernel.push_input(b"early".to_vec());
    assert_eq!(read_outbox(&mut guest, &outbox(&message(b"one"))), Action::Said);
    assert_eq!((guest.result(), guest.get(guest.scratch)), (5, *b"early"));
    assert_eq!(guest.kernel.take_said(), message(b"one"));
}

#[test]
fn an_outbox_of_anything_but_whole_messages_ends_the_request() {
    let whole = message(b"one");
    let answer = Head {
        kind: Kind::Response,
        header_bytes: 0,
        body_bytes: 0,
    };
    for body in [
        &whole[..whole.len() - 1],
        &whole[..7],
        &[][..],
        &answer.encode()[..],
    ] {
        let action = read_outbox(&mut talking_guest(true), &outbox(body));
        assert!(
            matches!(action, Action::Stop(Stop::BadFrame(_))),
            "{body:?}: {action:?}"
        );
    }
    let mut guest = talking_guest(false);
    let action = read_outbox(&mut guest, &outbox(&whole));
    assert_eq!(
        action,
        Action::Stop(Stop::BadFrame(mayfly_wire::FrameError::Kind(3)))
    );
    assert!(!guest.kernel.has_said());
    // One that would not fit into the buffer is none: it is overwritten by what is read.
    let mut guest = talking_guest(true);
    let mut long = outbox(&whole);
    long[12..16].copy_from_slice(&985_u32.to_le_bytes());
    assert_eq!(read_outbox(&mut guest, &long), Action::Idle { wait: None });
    assert!(!guest.kernel.has_said());
}
