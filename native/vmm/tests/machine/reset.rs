//! Forks and resets.

use crate::*;

#[test]
fn reset_rewinds_memory_and_every_register() {
    let Some(host) = host() else { return };
    let (snapshot, mut fork) = forked(machine(&host, &COUNTER));
    let mut alarm = patient();
    for round in 0..50 {
        assert_eq!(fork.run(&mut alarm).unwrap(), Exit::Syscall);
        assert_eq!(fork.registers().rax, 1, "round {round}");
        assert_eq!(fork.bases().unwrap(), (DATA, DATA));
        assert!(fork.check().is_err(), "a used fork must not pass");
        assert!(fork.reset().unwrap().pages > 0);
        fork.check().unwrap();
    }
    assert_eq!(
        fork.bases().unwrap(),
        (snapshot.state().fs_base, snapshot.state().gs_base)
    );
}

#[test]
fn forks_do_not_see_each_other() {
    let Some(host) = host() else { return };
    let (snapshot, mut a) = forked(machine(&host, &COUNTER));
    let mut b = snapshot.fork().unwrap();
    let mut alarm = patient();
    a.space().write(DATA, &[100]).unwrap();
    assert_eq!(a.run(&mut alarm).unwrap(), Exit::Syscall);
    assert_eq!(b.run(&mut alarm).unwrap(), Exit::Syscall);
    assert_eq!((a.registers().rax, b.registers().rax), (101, 1));
}

#[test]
fn working_set_shrinks_after_a_memory_hog() {
    let Some(host) = host() else { return };
    let (_snapshot, mut fork) = forked(machine(&host, &COUNTER));
    let mut alarm = patient();
    for hog in 0..3 {
        fork.space()
            .map(
                0x6000_0000,
                5000,
                Backing::Bytes(&vec![1; 5000 * 4096]),
                Protection::READ_WRITE,
            )
            .unwrap();
        assert!(fork.reset().unwrap().trimmed, "hog {hog}");
        for _ in 0..3 {
            assert_eq!(fork.run(&mut alarm).unwrap(), Exit::Syscall);
            assert_eq!(fork.registers().rax, 1);
            assert!(fork.reset().unwrap().pages < 32);
        }
    }
    fork.check().unwrap();
}

#[test]
fn pages_that_requests_stopped_writing_leave_the_working_set() {
    let Some(host) = host() else { return };
    let (_snapshot, mut fork) = forked(machine(&host, &COUNTER));
    let mut alarm = patient();
    let heavy = |fork: &mut Vm| {
        fork.space()
            .map(
                0x6000_0000,
                100,
                Backing::Bytes(&vec![1; 100 * 4096]),
                Protection::READ_WRITE,
            )
            .unwrap();
        fork.reset().unwrap()
    };
    let mut light = |fork: &mut Vm| {
        assert_eq!(fork.run(&mut alarm).unwrap(), Exit::Syscall);
        assert_eq!(fork.registers().rax, 1);
        fork.reset().unwrap()
    };
    assert!(heavy(&mut fork).pages >= 100);
    let mut given = Vec::new();
    for request in 0..2000 {
        let report = light(&mut fork);
        if report.idle > 0 {
            given.push((request, report.idle));
        }
    }
    assert!(
        matches!(given[..], [(request, 100..)] if request > 500),
        "{given:?}"
    );
    assert!(light(&mut fork).pages < 32);
    assert!(heavy(&mut fork).pages >= 100);
    // A check reads every page, and Linux before 6.7 counts what was only read as private: so it comes last.
    let gives_back = (0..5000).any(|_| light(&mut fork).idle > 0);
    assert!(gives_back, "pages that came back once are given back once more");
    fork.check().unwrap();
}

/// The walker of nested paging reads tables as the guest's memory; their entries are rewound one by one and never copied.
#[test]
fn a_reset_copies_content_and_no_tables() {
    let Some(host) = host() else { return };
    let (_snapshot, mut fork) = forked(machine(&host, &READER));
    let mut alarm = patient();
    let far = |i: u64| 0x1000_0000_0000 + i * (1 << 30);
    for round in 0..4 {
        for i in 0..16 {
            fork.space()
                .map(far(i), 1, Backing::Bytes(&[7]), Protection::READ_WRITE)
                .unwrap();
            assert_eq!(read_at(&mut fork, &mut alarm, far(i)), Ok(7));
        }
        // 16 pages of content and the stack of ring 0; each page came with two tables of its own.
        let pages = fork.reset().unwrap().pages;
        assert!((16..=24).contains(&pages), "round {round}: {pages}");
    }
    fork.check().unwrap();
}

#[test]
fn a_large_working_set_that_stays_is_accepted() {
    let Some(host) = host() else { return };
    let (_snapshot, mut fork) = forked(machine(&host, &COUNTER));
    let mut trims = 0;
    for _ in 0..20 {
        fork.space()
            .map(
                0x6000_0000,
                2000,
                Backing::Bytes(&vec![1; 2000 * 4096]),
                Protection::READ_WRITE,
            )
            .unwrap();
        trims += u32::from(fork.reset().unwrap().trimmed);
    }
    assert!((1..=4).contains(&trims), "{trims}");
    fork.check().unwrap();
}

#[test]
fn memory_over_the_limit_is_refused_and_the_next_request_runs() {
    let Some(host) = host() else { return };
    let (_snapshot, mut fork) = forked(machine(&host, &COUNTER));
    let e = fork
        .space()
        .map(0x6000_0000, 100_000, Backing::Zero, Protection::READ_WRITE)
        .unwrap_err();
    assert_eq!(e.survival(), Survival::Reset);
    fork.reset().unwrap();
    fork.check().unwrap();
    assert_eq!(fork.run(&mut patient()).unwrap(), Exit::Syscall);
    assert_eq!(fork.registers().rax, 1);
}

#[test]
fn kick_during_a_request_leaves_a_machine_that_resets() {
    let Some(host) = host() else { return };
    // inc (%rdi); cmp $0,%rsi; je .; syscall
    let code = [
        0x48, 0xff, 0x07, 0x48, 0x83, 0xfe, 0x00, 0x74, 0xfe, 0x48, 0x8b, 0x07, 0x0f, 0x05,
    ];
    let (_snapshot, mut fork) = forked(machine(&host, &code));
    for _ in 0..20 {
        assert_eq!(fork.run(&mut alarm(2)).unwrap(), Exit::Kicked);
        fork.reset().unwrap();
        fork.check().unwrap();
        let regs = Registers {
            rsi: 1,
            ..*fork.registers()
        };
        fork.set_registers(&regs);
        assert_eq!(fork.run(&mut patient()).unwrap(), Exit::Syscall);
        assert_eq!(fork.registers().rax, 1);
        fork.reset().unwrap();
    }
}
