//! What the process holds after requests that made it hold all they could: what it held before. One test, as it looks at the process.
//! Skipped aloud without `/dev/kvm` or `cc`.

#[path = "../support/c_guest.rs"]
mod c_guest;
#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "a client is enough here")]
mod support;

use std::sync::Arc;

use c_guest::{compile, compiled, spec};
use mayfly_pool::{Limits, Program, WarmupRequest};
use support::{Client, PATIENCE, frame, host, text};

/// The guest's memory.
const MEMORY: u64 = 64 << 20;

/// Bytes that the process has in memory, and the most that it had.
fn resident() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let kib = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    (kib("VmRSS:") << 10, kib("VmHWM:") << 10)
}

#[test]
fn the_process_is_as_large_as_before_after_every_attack() {
    let Some(host) = host() else { return };
    if !compile("host_memory", "-static") {
        return;
    }
    let mut spec = spec(&compiled("host_memory", "-static"));
    spec.limits = Limits {
        memory_bytes: MEMORY,
        boot_ns: PATIENCE,
        ..Limits::default()
    };
    let mut warm = vec![frame("warm", b"")];
    let booted = Program::boot(&host, &spec, &mut |_| warm.pop().map(WarmupRequest::new));
    let mut client = Client::new(&Arc::new(booted.unwrap()));
    let attacks = ["shrunk", "named", "links", "pipes", "versions"];
    let settle = |client: &mut Client| {
        for _ in 0..4 {
            assert_eq!(text(&client.ask("hello")), "hello");
        }
    };
    // Pages that the machine keeps for its usual requests are there.
    settle(&mut client);
    let (mut before, _) = resident();
    // The first of each also finds code and tables that stay, some 2 % of what the guest may have; the second finds them there.
    for allowed in [MEMORY / 20, MEMORY / 64] {
        let begin = before;
        for attack in attacks {
            let answer = text(&client.ask(attack));
            settle(&mut client);
            let (after, most) = resident();
            println!("{attack}: {answer}; {begin} bytes before, {after} after, {most} at most");
            assert!(
                after <= begin + allowed,
                "{attack}: {begin} bytes before, {after} after"
            );
            assert!(most <= begin + MEMORY * 3 / 2, "{attack}: {most} bytes at most");
            before = after;
        }
    }
}
