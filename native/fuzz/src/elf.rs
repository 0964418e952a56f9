//! The ELF loader: any bytes as a program, which may name itself as its interpreter.
//!
//! What must hold: nothing panics; what `parse` gives lies within the file and below its limits, and costs no more than its headers;
//! a program that starts has its segments' bytes where its headers put them, zeros behind them, and nothing else.

use mayfly_linux::fs::host_file::HostFile;
use mayfly_linux::fs::stdio::OutputMode;
use mayfly_linux::image::elf::{self, Program};
use mayfly_linux::kernel::exec::Exec;
use mayfly_linux::kernel::{Config, Kernel};
use mayfly_linux::limits::Limits;
use mayfly_linux::machine::mock::MockMachine;
use mayfly_linux::machine::{Machine, PAGE, Protection, SlotId, USER_END, USER_START};

use crate::calls::CLOCK;
use crate::meter::measure;

const HEADERS_MAX: usize = 64;
const INTERPRETER_MAX: usize = 4096;
/// Most bytes that `parse` may allocate: its segments, in a list that doubles as it grows, and the interpreters' paths.
const PARSE_BYTES: usize = 2 * HEADERS_MAX * size_of::<elf::Segment>() + HEADERS_MAX * INTERPRETER_MAX;
/// Most bytes that `exec` may allocate: pages of the machine and copies of text, never what a header merely claims.
const EXEC_BYTES: usize = 4 << 20;
const RESERVED_MAX: u64 = 1 << 40;

/// The whole of the bytes is the program.
pub fn run(file: &[u8]) {
    let (parsed, spent) = measure(|| elf::parse(file));
    assert!(spent.bytes <= PARSE_BYTES, "{spent:?}");
    if let Ok(program) = &parsed {
        check_program(program, file.len() as u64);
    }
    let limits = Limits {
        mappings: 100,
        reserved_bytes: RESERVED_MAX,
        ..Limits::default()
    };
    let config = Config {
        limits,
        output: OutputMode::Stream,
        clock: CLOCK,
        seed: [7; 32],
        jump_when_idle: true,
    };
    for slot in [None, Some(SlotId(0))] {
        let (mut kernel, mut machine) = (Kernel::new(&config), MockMachine::new(1000));
        machine.add_slot(file.to_vec());
        for path in ["/p", "/lib64/ld-linux-x86-64.so.2"] {
            let mut program = HostFile::new(file.to_vec());
            program.slot = slot;
            kernel.vfs_mut().mount_file(path, program);
        }
        let exec = Exec {
            path: "/p".into(),
            arguments: vec!["p".into()],
            ..Exec::default()
        };
        let (started, spent) = measure(|| kernel.exec(&mut machine, &exec));
        assert!(spent.bytes <= EXEC_BYTES + 2 * PARSE_BYTES, "{spent:?}");
        kernel.audit().expect("tables that agree");
        kernel
            .audit_pages(machine.pages())
            .expect("pages that are mapped");
        if started.is_err() {
            continue;
        }
        let program = parsed.as_ref().expect("a program that started was read");
        assert!(machine.registers().rip < USER_END);
        let base = base_of(&mut machine, program);
        for segment in &program.segments {
            check_segment(&mut kernel, &mut machine, segment, base, file);
        }
    }
}

fn check_program(program: &Program, length: u64) {
    assert!((1..=HEADERS_MAX).contains(&program.segments.len()));
    let mut end = if program.relocatable { 0 } else { USER_START };
    for segment in &program.segments {
        assert!(segment.address - segment.address % PAGE >= end, "{segment:x?}");
        assert!(
            segment.offset % PAGE == segment.address % PAGE && segment.memory_bytes > 0,
            "{segment:x?}"
        );
        assert!(segment.file_bytes <= segment.memory_bytes, "{segment:x?}");
        assert!(
            segment
                .offset
                .checked_add(segment.file_bytes)
                .is_some_and(|end| end <= length),
            "{segment:x?}"
        );
        end = (segment.address + segment.memory_bytes).next_multiple_of(PAGE);
    }
    assert!(end < USER_END && program.extent().1 == end);
    assert!(
        program
            .interpreter
            .as_ref()
            .is_none_or(|path| path.len() < INTERPRETER_MAX && !path.contains(&0))
    );
}

/// The load bias, from the entry point in the auxiliary vector on the first stack.
fn base_of(machine: &mut MockMachine, program: &Program) -> u64 {
    let mut at = machine.registers().rsp;
    assert_eq!(at % 16, 0);
    let mut next = || {
        let mut word = [0; 8];
        machine.read(at, &mut word).expect("a first stack");
        at += 8;
        u64::from_le_bytes(word)
    };
    let count = next();
    (0..count).for_each(|_| assert!(next() != 0));
    assert_eq!((count, next()), (1, 0));
    while next() != 0 {}
    loop {
        match (next(), next()) {
            (0, _) => panic!("no entry point in the auxiliary vector"),
            (9, entry) => return entry.checked_sub(program.entry).expect("a load bias"),
            _ => {}
        }
    }
}

/// Looks at both ends of a segment's bytes from the file, and of the zeros behind them.
fn check_segment(
    kernel: &mut Kernel,
    machine: &mut MockMachine,
    segment: &elf::Segment,
    base: u64,
    file: &[u8],
) {
    if segment.protection == Protection::NONE {
        return;
    }
    let (in_file, in_memory) = (segment.file_bytes, segment.memory_bytes);
    let looks = [
        (0, in_file.min(64)),
        (in_file.saturating_sub(64), in_file),
        (in_file, in_memory.min(in_file + 5000)),
    ];
    for (from, to) in looks.into_iter().filter(|(from, to)| from < to) {
        let start = base + segment.address + from;
        for page in (start - start % PAGE..base + segment.address + to).step_by(PAGE as usize) {
            // A load by ring 3 faults where nothing is mapped yet.
            let mut byte = [0];
            if machine.read(page, &mut byte).is_err() {
                kernel.fault(machine, 14, 4, page);
            }
        }
        let mut found = vec![0xaa; (to - from) as usize];
        machine
            .read(start, &mut found)
            .unwrap_or_else(|fault| panic!("{segment:x?} is not there: {fault:x?}"));
        let at = (segment.offset + from) as usize;
        let wanted = if from < in_file {
            &file[at..at + found.len()]
        } else {
            &vec![0; found.len()][..]
        };
        assert_eq!(found, wanted, "{segment:x?} from {from:#x}");
    }
}
