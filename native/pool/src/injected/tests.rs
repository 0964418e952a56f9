//! A worker that crashes costs its machines and the job in hand, and nothing else.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mayfly_vmm::{Error, Host, thread_cpu_ns};
use mayfly_wire::{HEAD_BYTES, Head, Kind};

use super::{FILE_READ, alone};
use crate::program::instance::Instance;
use crate::sched::Scheduling;
use crate::sched::slice::TimeSlice;
use crate::{
    Channel, Completion, Job, Limits, MachineState, Mount, Outcome, Pool, Program, Reset, Spec, WarmupRequest,
};

const TEXT: u64 = 0x40_0000;
const DATA: u64 = 0x50_0000;

fn frame(kind: Kind, header: &[u8], body: &[u8]) -> Vec<u8> {
    let head = Head {
        kind,
        header_bytes: header.len() as u32,
        body_bytes: body.len() as u32,
    };
    [&head.encode()[..], header, body].concat()
}

/// A program that reads a frame and answers with how often it did so, in one digit. ELF, by hand: no compiler is needed.
fn counter() -> Vec<u8> {
    writer(&frame(Kind::Response, b"{}", b"0"))
}

/// A program that writes these bytes, their last one counted up, whenever it has read something.
fn writer(answer: &[u8]) -> Vec<u8> {
    let digit = DATA as u32 + answer.len() as u32 - 1;
    let word = |w: u32| w.to_le_bytes();
    let code = [
        &[0x31, 0xff, 0xbe][..], // xor %edi,%edi; mov $BUFFER,%esi
        &word(DATA as u32 + 4096),
        &[0xba, 0, 0x10, 0, 0, 0x31, 0xc0, 0x0f, 0x05, 0xfe, 0x04, 0x25], // mov $4096,%edx; xor %eax,%eax; syscall; incb DIGIT
        &word(digit),
        &[0xbf, 1, 0, 0, 0, 0xbe], // mov $1,%edi; mov $ANSWER,%esi
        &word(DATA as u32),
        &[0xba],
        &word(answer.len() as u32),
        &[0xb8, 1, 0, 0, 0, 0x0f, 0x05], // mov LENGTH,%edx; mov $1,%eax; syscall
    ]
    .concat();
    let back = (-(code.len() as i32 + 2)) as i8;
    let code = [&code[..], &[0xeb, back as u8]].concat();
    let load = |flags: u32, offset: u64, address: u64, file: u64, memory: u64| {
        let words = [offset, address, address, file, memory, 4096];
        let words = words.iter().flat_map(|w| w.to_le_bytes());
        [1u32.to_le_bytes(), flags.to_le_bytes()]
            .concat()
            .into_iter()
            .chain(words)
            .collect::<Vec<u8>>()
    };
    let mut elf = vec![
        0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 62, 0, 1, 0, 0, 0,
    ];
    for word in [TEXT + 4096, 64, 0] {
        elf.extend(word.to_le_bytes()); // entry, program headers, section headers
    }
    elf.extend([0, 0, 0, 0, 64, 0, 56, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    elf.extend(load(5, 4096, TEXT + 4096, code.len() as u64, code.len() as u64));
    elf.extend(load(6, 8192, DATA, answer.len() as u64, 3 * 4096));
    elf.resize(4096, 0);
    elf.extend(code);
    elf.resize(8192, 0);
    elf.extend(answer);
    elf
}

pub(super) fn host() -> Option<Arc<Host>> {
    match Host::open() {
        Ok(host) => Some(Arc::new(host)),
        Err(Error::Unavailable(u)) => {
            eprintln!("SKIPPED: no /dev/kvm: {}; {}", u.reason, u.hint);
            None
        }
        Err(e) => panic!("{e}"),
    }
}

fn program(host: &Arc<Host>, warmup: &mut crate::Warmup) -> Result<Arc<Program>, crate::BootError> {
    program_of(host, counter(), warmup)
}

fn program_of(
    host: &Arc<Host>,
    elf: Vec<u8>,
    warmup: &mut crate::Warmup,
) -> Result<Arc<Program>, crate::BootError> {
    let spec = Spec {
        path: "/program".into(),
        arguments: vec!["program".into()],
        mounts: vec![Mount::bytes("/program", elf)],
        folder: "/".into(),
        limits: Limits {
            memory_bytes: 16 << 20,
            output_bytes: 4096,
            ..Limits::default()
        },
        ..Spec::default()
    };
    Program::boot(host, &spec, warmup).map(Arc::new)
}

/// A pool, and a program that was asked once before its snapshot: it answers "2".
fn pool(workers: usize) -> Option<(Pool, Arc<Program>)> {
    let mut warm = vec![WarmupRequest::new(frame(Kind::Request, b"warm", b""))];
    let program = program(&host()?, &mut |_| warm.pop()).unwrap();
    Some((Pool::start(workers, 1000).unwrap(), program))
}

fn job(program: &Arc<Program>, id: u64, what: &[u8]) -> Job {
    Job {
        id,
        program: program.clone(),
        flow: 0,
        weight: 1,
        frame: frame(Kind::Request, what, b""),
        timeout_ns: 60_000_000_000,
        keep: false,
        check: false,
        channel: None,
    }
}

fn ask(pool: &Pool, program: &Arc<Program>, what: &[u8]) -> Outcome {
    ask_for_all(pool, program, what).outcome
}

fn ask_for_all(pool: &Pool, program: &Arc<Program>, what: &[u8]) -> Completion {
    pool.submit(job(program, 7, what)).unwrap();
    let mut done = Vec::new();
    assert_eq!(pool.fetch(&mut done, 1, Duration::from_secs(120)), 1, "{what:?}");
    assert_eq!(done[0].id, 7);
    done.remove(0)
}

/// The reset that follows an answer, or came with it.
fn reset_of(pool: &Pool, done: &Completion) -> Reset {
    let mut resets = Vec::new();
    if done.machine != MachineState::Resetting {
        assert_eq!(pool.take_resets(&mut resets, 9), 0);
        return Reset {
            id: done.id,
            reset_ns: done.stats.reset_ns,
            dirty_pages: done.stats.dirty_pages,
            machine: done.machine,
        };
    }
    let end = Instant::now() + Duration::from_secs(120);
    while pool.take_resets(&mut resets, 9) == 0 {
        assert!(Instant::now() < end, "no reset came");
        std::thread::yield_now();
    }
    assert_eq!(resets.len(), 1);
    resets.remove(0)
}

fn answer(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Answered(frame) => String::from_utf8_lossy(&frame[HEAD_BYTES + 2..]).into_owned(),
        other => format!("({other})"),
    }
}

#[test]
fn each_kind_of_crash_fails_its_request_alone_and_is_reported() {
    let _alone = alone();
    let Some((pool, program)) = pool(1) else { return };
    assert_eq!(answer(&ask(&pool, &program, b"hello")), "2");
    let cases: [(&[u8], &[&str]); 5] = [
        (b"segv", &["SIGSEGV", "at address 0x77", "injected_segv", "rip 0"]),
        (b"ill", &["SIGILL", "injected_illegal_instruction", "r15 "]),
        (b"call", &["refuses system call 41 ", "injected_socket"]),
        (b"exec", &["refuses system call 59 ", "injected_execve"]),
        (b"panic", &["panic: injected, at ", "injected_panic"]),
    ];
    for (n, (what, words)) in cases.iter().enumerate() {
        let Outcome::Failed(report) = ask(&pool, &program, what) else {
            panic!("{what:?} did not fail")
        };
        for word in words.iter().chain(&["mayfly-vm-0 crashed: "]) {
            assert!(report.contains(word), "{word} in {report}");
        }
        for _ in 0..3 {
            assert_eq!(answer(&ask(&pool, &program, b"hello")), "2");
        }
        assert_eq!(pool.stats().crashes, n as u64 + 1);
    }
    let stats = pool.stats();
    assert_eq!((stats.outcomes["failed"], stats.outcomes["answered"]), (5, 16));
    assert_eq!((stats.lost, stats.forks), (5, 6));
}

/// A pool that answers before its resets.
fn early() -> Option<(Pool, Arc<Program>)> {
    let (_, program) = pool(1)?;
    Some((Pool::start_early(1, 1000).unwrap(), program))
}

#[test]
fn an_answer_before_the_reset_is_followed_by_its_figures() {
    let _alone = alone();
    let Some((pool, program)) = early() else { return };
    let (mut reset_ns, mut dirty_pages) = (0, 0);
    for _ in 0..50 {
        let done = ask_for_all(&pool, &program, b"hello");
        assert_eq!(answer(&done.outcome), "2");
        assert!(done.stats.run_ns > 0 && done.stats.exits > 0);
        let reset = reset_of(&pool, &done);
        assert_eq!((reset.id, reset.machine), (7, MachineState::Clean));
        assert!(reset.reset_ns > 0 && reset.dirty_pages > 0);
        reset_ns += reset.reset_ns;
        dirty_pages += reset.dirty_pages;
    }
    let stats = pool.stats();
    assert_eq!(stats.outcomes["answered"], 50);
    assert_eq!(
        (stats.total.reset_ns, stats.total.dirty_pages),
        (reset_ns, dirty_pages)
    );
    assert_eq!((stats.lost, stats.forks, pool.load()), (0, 1, (0, 0)));
}

#[test]
fn a_crash_in_the_reset_costs_the_machine_and_the_answer_stands() {
    let _alone = alone();
    let Some((pool, program)) = early() else { return };
    let kinds: [&[u8]; 4] = [b"reset segv", b"reset ill", b"reset call", b"reset panic"];
    for (n, what) in kinds.iter().enumerate() {
        let done = ask_for_all(&pool, &program, what);
        assert_eq!(answer(&done.outcome), "2", "{what:?}");
        let lost = Reset {
            id: 7,
            reset_ns: 0,
            dirty_pages: 0,
            machine: MachineState::Lost,
        };
        assert_eq!(reset_of(&pool, &done), lost);
        for _ in 0..3 {
            let done = ask_for_all(&pool, &program, b"hello");
            assert_eq!(answer(&done.outcome), "2");
            assert_eq!(reset_of(&pool, &done).machine, MachineState::Clean);
        }
        assert_eq!(pool.stats().crashes, n as u64 + 1);
    }
    let stats = pool.stats();
    assert_eq!(stats.outcomes, [("answered", 16)].into());
    assert_eq!((stats.lost, stats.forks, pool.load()), (4, 5, (0, 0)));
}

#[test]
fn a_machine_that_is_lost_in_its_reset_is_forked_anew_and_the_answer_stands() {
    let _alone = alone();
    let cases: [(_, &[u8]); 2] = [(early(), b"reset fail"), (pool(1), b"fail")];
    for (pool, what) in cases {
        let Some((pool, program)) = pool else { return };
        for n in 1..4 {
            let done = ask_for_all(&pool, &program, what);
            assert_eq!(answer(&done.outcome), "2");
            let reset = reset_of(&pool, &done);
            assert_eq!((reset.machine, reset.dirty_pages), (MachineState::Lost, 0));
            let done = ask_for_all(&pool, &program, b"hello");
            assert_eq!(answer(&done.outcome), "2");
            assert_eq!(reset_of(&pool, &done).machine, MachineState::Clean);
            let stats = pool.stats();
            assert_eq!((stats.lost, stats.forks, stats.crashes), (n, n + 1, 0));
        }
    }
}

#[test]
fn a_close_waits_for_the_last_reset() {
    let _alone = alone();
    let Some((pool, program)) = early() else { return };
    let done = ask_for_all(&pool, &program, b"hello");
    pool.close();
    assert_eq!(pool.fetch(&mut Vec::new(), 9, Duration::from_secs(120)), 0);
    let mut resets = Vec::new();
    let follows = done.machine == MachineState::Resetting;
    assert_eq!(pool.take_resets(&mut resets, 9), usize::from(follows));
}

#[test]
fn a_worker_cannot_open_a_file_of_the_host_and_goes_on() {
    let _alone = alone();
    let Some((pool, program)) = pool(1) else { return };
    assert_eq!(answer(&ask(&pool, &program, b"file")), "2");
    let read = FILE_READ.lock().unwrap().take().expect("the hook ran");
    assert_eq!(read.unwrap_err().raw_os_error(), Some(libc::EPERM));
    assert_eq!(pool.stats().crashes, 0);
    assert!(std::fs::read("/proc/self/environ").is_ok(), "this thread may");
}

#[test]
fn crashes_leave_no_descriptor_and_no_thread() {
    // All machines of the process are counted.
    if !has_process_of_its_own("injected::tests::crashes_leave_no_descriptor_and_no_thread") {
        return;
    }
    let Some((pool, program)) = pool(1) else { return };
    let held = || (guest_descriptors(), guest_mappings());
    let hello = || assert_eq!(answer(&ask(&pool, &program, b"hello")), "2");
    hello();
    let before = held();
    for _ in 0..10 {
        assert!(matches!(ask(&pool, &program, b"segv"), Outcome::Failed(_)));
        hello();
    }
    assert_eq!(held(), before, "descriptors, mappings of guest memory");
    assert_eq!(pool.stats().crashes, 10);
}

/// Runs this one test in another process; true in that process.
fn has_process_of_its_own(test: &str) -> bool {
    const MARK: &str = "MAYFLY_TEST_ALONE";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let status = command
        .args([test, "--exact", "--nocapture"])
        .env(MARK, "1")
        .status();
    assert!(status.unwrap().success(), "see above");
    false
}

/// Descriptors of guest memory and of KVM.
fn guest_descriptors() -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap();
    links
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .filter(|link| {
            let link = link.to_string_lossy();
            link.contains("mayfly-guest") || link.contains("kvm")
        })
        .count()
}

/// Mappings of snapshots and of KVM.
fn guest_mappings() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines()
        .filter(|l| l.contains("mayfly-guest") || l.contains("kvm"))
        .count()
}

#[test]
fn other_workers_go_on_and_no_job_is_lost() {
    let _alone = alone();
    let Some((pool, program)) = pool(2) else { return };
    const JOBS: u64 = 200;
    for id in 0..JOBS {
        let what: &[u8] = if id % 20 == 7 { b"segv" } else { b"hello" };
        pool.submit(job(&program, id, what)).unwrap();
    }
    let mut done = Vec::new();
    while done.len() < JOBS as usize {
        assert!(pool.fetch(&mut done, 100, Duration::from_secs(120)) > 0);
    }
    done.sort_by_key(|c| c.id);
    for (id, completion) in done.iter().enumerate() {
        assert_eq!(completion.id, id as u64);
        let failed = matches!(completion.outcome, Outcome::Failed(_));
        assert_eq!(failed, id % 20 == 7, "{id}: {}", completion.outcome);
        assert!(failed || answer(&completion.outcome) == "2");
    }
    assert_eq!(pool.load(), (0, 0));
}

#[test]
fn a_pool_that_crashed_is_dropped_like_any_other() {
    let _alone = alone();
    let Some((pool, program)) = pool(2) else { return };
    for id in 0..4 {
        let job = Job {
            id,
            program: program.clone(),
            flow: 0,
            weight: 1,
            frame: frame(Kind::Request, b"segv", b""),
            timeout_ns: 60_000_000_000,
            keep: false,
            check: false,
            channel: None,
        };
        pool.submit(job).unwrap();
    }
    drop(pool); // waits for the requests that wait
}

#[test]
fn a_crash_during_a_boot_is_an_error_with_the_report() {
    let _alone = alone();
    let Some(host) = host() else { return };
    let count = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    // What is opened once and kept, before anything is counted.
    program(&host, &mut |_| None).unwrap();
    let before = count();
    let error = program(&host, &mut |_| {
        super::injected_socket();
        None
    })
    .unwrap_err();
    let report = error.to_string();
    assert!(
        report.contains("mayfly-boot crashed: ") && report.contains("injected_socket"),
        "{report}"
    );
    assert_eq!(count(), before);
}

/// A reset may take as long as its request, so the long slice lasts until the machine is clean.
#[test]
fn long_turns_end_after_the_reset() {
    let Some(host) = host() else { return };
    let program = program(&host, &mut |_| None).unwrap();
    crate::run_confined("slices", |alarm| {
        let mut instance = Instance::new(&program).unwrap();
        for _ in 0..2 {
            while !instance.running.slice.check(Scheduling::ALL) {
                let end = thread_cpu_ns() + 1_000_000;
                while thread_cpu_ns() < end {}
            }
            let ran = instance.run(frame(Kind::Request, b"", b""), alarm, 10_000_000_000);
            assert!(matches!(ran.outcome, Ok(Outcome::Answered(_))), "{ran:?}");
            instance.clean(alarm, None).unwrap();
            assert!(matches!(instance.running.slice, TimeSlice::Long { .. }));
            instance.rest();
            assert!(matches!(instance.running.slice, TimeSlice::Usual));
        }
    })
    .unwrap();
}

#[test]
fn a_crash_ends_the_requests_that_its_worker_had_parked() {
    let _alone = alone();
    let Some((pool, program)) = pool(1) else { return };
    // It says something instead of an answer, and waits.
    let message = frame(Kind::Message, b"\x01\0\0\0", b"0");
    let talker = program_of(&host().expect("there was one"), writer(&message), &mut |_| None).unwrap();
    let mut most = 0;
    for round in 0..3 {
        let channels = [(); 3].map(|()| Arc::<Channel>::default());
        for (id, channel) in channels.iter().enumerate() {
            let talks = Job {
                channel: Some(channel.clone()),
                ..job(&talker, id as u64, b"")
            };
            pool.submit(talks).unwrap();
        }
        let begin = Instant::now();
        while pool.parked() < 3 {
            assert!(begin.elapsed() < Duration::from_secs(60), "{round}");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(pool.parked_bytes() > 0, "{round}");
        pool.submit(job(&program, 9, b"segv")).unwrap();
        let mut done: Vec<Completion> = Vec::new();
        while done.len() < 4 {
            assert!(pool.fetch(&mut done, 9, Duration::from_secs(60)) > 0, "{round}");
        }
        done.sort_by_key(|completion| completion.id);
        assert_eq!(done.iter().map(|done| done.id).collect::<Vec<_>>(), [0, 1, 2, 9]);
        for completion in &done {
            assert!(
                matches!(completion.outcome, Outcome::Failed(_)),
                "{}",
                completion.outcome
            );
            assert_eq!(completion.machine, MachineState::Lost);
        }
        assert!(!pool.say(0, &channels[0], &message), "it has ended");
        assert_eq!((pool.parked(), pool.parked_bytes()), (0, 0));
        pool.submit(job(&program, 10, b"")).unwrap();
        let mut done = Vec::new();
        assert_eq!(pool.fetch(&mut done, 1, Duration::from_secs(60)), 1);
        assert_eq!(done[0].outcome.name(), "answered");
        let open = std::fs::read_dir("/proc/self/fd").unwrap().count();
        if round > 0 {
            assert!(open <= most, "{open} descriptors, before it {most}");
        }
        most = most.max(open);
    }
}
