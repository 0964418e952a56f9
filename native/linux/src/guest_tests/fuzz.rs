//! Random system calls with random arguments and random memory: nothing panics, and a reset takes everything back.

use super::*;
use crate::test_rng::TestRng;

impl TestRng {
    /// A value that some call takes seriously: an address, a descriptor, a length, flags, an edge.
    fn argument(&mut self, guest: &Guest) -> u64 {
        const EDGES: [u64; 14] = [
            0,
            1,
            8,
            PAGE - 1,
            PAGE,
            0x1_0000,
            0x7fff_ffff,
            0xffff_ffff,
            crate::machine::USER_END - 1,
            crate::machine::USER_END,
            1 << 47,
            1 << 63,
            u64::MAX - PAGE + 1,
            u64::MAX,
        ];
        match self.below(9) {
            0 | 1 => guest.scratch + self.below(2 * PAGE / 8) * 8,
            2 => guest.scratch + 2 * PAGE - self.below(64),
            3 => self.below(16),
            4 => EDGES[self.below(14) as usize],
            5 => 1 << self.below(64),
            6 => self.below(5000),
            7 => guest.scratch + self.below(6) * PAGE - self.below(2) * PAGE,
            _ => self.next(),
        }
    }
}

/// Paths, vectors, events, times and sets that calls may find in the scratch pages.
fn fill(guest: &mut Guest, rng: &mut TestRng) {
    let paths: [&[u8]; 8] = [
        b"/tmp/a\0",
        b"/tmp/b/c\0",
        b"/proc/self/maps\0",
        b"/\0",
        b"..\0",
        b"/dev/zero\0",
        b"/bin/tiny\0",
        b"/tmp/b\0",
    ];
    for slot in 0..40 {
        let at = guest.scratch + slot * 64;
        match rng.below(3) {
            0 => guest.put(at, paths[rng.below(8) as usize]),
            1 => {
                let words =
                    [rng.argument(guest), rng.argument(guest), rng.argument(guest)].map(u64::to_le_bytes);
                guest.put(at, words.as_flattened());
            }
            _ => guest.put(at, &[rng.below(8), rng.below(64)].map(u64::to_le_bytes).concat()),
        }
    }
}

#[test]
fn random_calls_never_panic_and_a_restore_takes_all_back() {
    let limits = Limits {
        reserved_bytes: 1 << 36,
        mappings: 200,
        file_bytes: 100_000,
        held_bytes: 300_000,
        ..Limits::default()
    };
    let mut first = Guest::with(limits, OutputMode::Stream);
    let snapshot = first.kernel.snapshot();
    let mut guest = first.clone();
    let number_from = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let mut rng = TestRng::new(number_from("MAYFLY_FUZZ_SEED").unwrap_or(0x1234_5678_9abc_def1));
    let mut made = 0_u64;
    // A longer run: MAYFLY_FUZZ_ROUNDS=100000 cargo test --release -p mayfly-linux random_calls
    let rounds = number_from("MAYFLY_FUZZ_ROUNDS").unwrap_or(400);
    for round in 0..rounds {
        rng = TestRng::new(rng.next() ^ round);
        // Scratch may be unmapped by now; each round begins from the snapshot.
        fill(&mut guest, &mut rng);
        for _ in 0..120 {
            let call = if rng.below(50) == 0 {
                rng.next()
            } else {
                rng.below(460)
            };
            // Ends and waits without hope would only shorten the round.
            if matches!(call, number::exit_group | number::pause | number::rt_sigsuspend)
                && rng.below(20) != 0
            {
                continue;
            }
            made += 1;
            let arguments = std::array::from_fn(|_| rng.argument(&guest));
            let action = match rng.below(40) {
                0 => guest.kernel.preempt(&mut guest.machine),
                1 => {
                    let (vector, code) = (rng.below(32) as u8, rng.below(32));
                    let address = rng.argument(&guest);
                    guest.kernel.fault(&mut guest.machine, vector, code, address)
                }
                2 => {
                    guest.kernel.push_input(vec![1; rng.below(100) as usize]);
                    guest.kernel.run(&mut guest.machine)
                }
                _ => guest.act(call, arguments),
            };
            assert!(guest.machine.registers().rip < crate::machine::USER_END);
            match action {
                Action::Resume => {}
                Action::Output | Action::Frame | Action::Said | Action::Connection => {
                    guest.kernel.take_said();
                    guest.kernel.take_output();
                    guest.kernel.take_log();
                }
                Action::Idle { .. } | Action::Wait { .. } | Action::Deadlock | Action::Stop(_) => break,
            }
        }
        guest.kernel.restore(&snapshot);
        guest.machine.clone_from(&first.machine);
        assert_eq!(guest.kernel.differences(&snapshot), [""; 0]);
    }
    println!("{made} calls");
    assert!(made > 5000, "{made}");
}

#[test]
fn programs_with_changed_bytes_start_or_are_refused_but_never_panic() {
    let mut rng = TestRng::new(77);
    let good = tiny(3, 0, &[0x0f, 0x05], 5000);
    let config = Config {
        limits: Limits::default(),
        output: OutputMode::Stream,
        clock: CLOCK,
        seed: [7; 32],
        jump_when_idle: true,
    };
    let (mut started, mut refused) = (0, 0);
    for _ in 0..3000 {
        let mut bytes = good.clone();
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = [0, 1, 3, 0x7f, 0x80, 0xff, rng.next() as u8][rng.below(7) as usize];
        }
        let (mut kernel, mut machine) = (Kernel::new(&config), MockMachine::new(3000));
        kernel.vfs_mut().mount_file("/p", HostFile::new(bytes));
        let exec = Exec {
            path: "/p".into(),
            arguments: vec!["p".into()],
            ..Exec::default()
        };
        match kernel.exec(&mut machine, &exec) {
            Ok(()) => {
                assert!(machine.registers().rip < crate::machine::USER_END);
                started += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(started > 100 && refused > 100, "{started} {refused}");
}
