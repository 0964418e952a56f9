//! What a bare machine costs here, and the baseline below which no request can go.

use std::sync::Arc;
use std::time::Instant;

use mayfly_vmm::{
    Alarm, Backing, Error, Exit, Host, PAGE, Protection, Registers, Result, Snapshot, USER_START, Vm,
    monotonic_ns,
};

use super::sheet::{Samples, Sheet};

const CODE: u64 = USER_START;
const DATA: u64 = 0x4000_0000;
/// Pages that the reset's measurement writes: what a small request dirties.
const PAGES: u64 = 32;

/// Writes one word to each of RCX pages from RDI on, then asks: `1: mov %rcx,(%rdi); add $4096,%rdi; dec %rcx; jnz 1b; syscall`,
/// and from then on only asks: `2: syscall; jmp 2b`.
const PROGRAM: [u8; 21] = [
    0x48, 0x89, 0x0f, 0x48, 0x81, 0xc7, 0x00, 0x10, 0x00, 0x00, 0x48, 0xff, 0xc9, 0x75, 0xf1, 0x0f, 0x05,
    0x0f, 0x05, 0xeb, 0xfc,
];

fn take(count: usize, mut once: impl FnMut() -> Result<u64>) -> Result<Samples> {
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        all.push(once()?);
    }
    Ok(Samples::new(all))
}

fn timed(what: impl FnOnce() -> Result<()>) -> Result<u64> {
    let start = Instant::now();
    what()?;
    Ok(start.elapsed().as_nanos() as u64)
}

fn want_call(exit: Exit) -> Result<()> {
    match exit {
        Exit::Syscall => Ok(()),
        other => Err(Error::UnexpectedExit {
            what: format!("the measured program: {other:?}"),
        }),
    }
}

fn machine(host: &Arc<Host>) -> Result<Vm> {
    let mut vm = Vm::new(host, 64 << 20)?;
    vm.space()
        .map(CODE, 1, Backing::Bytes(&PROGRAM), Protection::READ_EXECUTE)?;
    vm.space().map(
        DATA,
        PAGES,
        Backing::Bytes(&vec![1; (PAGES * PAGE) as usize]),
        Protection::READ_WRITE,
    )?;
    vm.set_registers(&Registers {
        rip: CODE,
        rdi: DATA,
        rcx: PAGES,
        ..Default::default()
    });
    Ok(vm)
}

/// The parts of the baseline: empty round trips, and copies of the pages.
fn baseline_parts(snapshot: &Arc<Snapshot>, alarm: &mut Alarm, count: usize) -> Result<(Samples, Samples)> {
    let mut vm = snapshot.fork()?;
    want_call(vm.run(alarm)?)?;
    let trips = take(count, || timed(|| want_call(vm.run(alarm)?)))?;
    let (source, mut target) = (
        vec![1u8; (PAGES * PAGE) as usize],
        vec![0u8; (PAGES * PAGE) as usize],
    );
    let copies = take(count, || {
        timed(|| {
            target.copy_from_slice(std::hint::black_box(&source));
            std::hint::black_box(&mut target);
            Ok(())
        })
    })?;
    Ok((trips, copies))
}

/// One empty round trip and the copy of the pages, in microseconds: no request can be quicker.
pub fn baseline(host: &Arc<Host>, alarm: &mut Alarm, sheet: &mut Sheet) -> Result<f64> {
    alarm.set(Some(monotonic_ns() + 10_000_000_000))?;
    let snapshot = Arc::new(machine(host)?.snapshot(64 << 20)?);
    tell_baseline(&snapshot, alarm, sheet)
}

fn tell_baseline(snapshot: &Arc<Snapshot>, alarm: &mut Alarm, sheet: &mut Sheet) -> Result<f64> {
    let (trips, copies) = baseline_parts(snapshot, alarm, 5000)?;
    sheet.times("roundTrip", "round trip by system call", &trips);
    sheet.times("copy", &format!("copy of {PAGES} pages"), &copies);
    sheet.number("copyPages", PAGES as f64);
    let baseline = trips.at(500) + copies.at(500);
    sheet.say(&format!("{:<34}     {baseline:8.2}  us", "baseline"));
    sheet.number("baselineUs", baseline);
    Ok(baseline)
}

/// The baseline of this moment, in microseconds, by so many trips.
pub fn baseline_now(host: &Arc<Host>, alarm: &mut Alarm, count: usize) -> Result<f64> {
    alarm.set(Some(monotonic_ns() + 10_000_000_000))?;
    let snapshot = Arc::new(machine(host)?.snapshot(64 << 20)?);
    let (trips, copies) = baseline_parts(&snapshot, alarm, count)?;
    Ok(trips.at(500) + copies.at(500))
}

/// Measures the bare machine; gives the baseline in microseconds.
pub fn bare(host: &Arc<Host>, alarm: &mut Alarm, sheet: &mut Sheet) -> Result<f64> {
    alarm.set(Some(monotonic_ns() + 120_000_000_000))?;
    let snapshot = Arc::new(machine(host)?.snapshot(64 << 20)?);
    let baseline = tell_baseline(&snapshot, alarm, sheet)?;

    let mut vm = machine(host)?;
    let mut at = 0x5000_0000;
    let faults = take(500, || {
        vm.set_registers(&Registers {
            rip: CODE,
            rdi: at,
            rcx: 1,
            ..Default::default()
        });
        let spent = timed(|| {
            let Exit::Exception(_) = vm.run(alarm)? else {
                return want_call(Exit::Kicked);
            };
            vm.space().map(at, 1, Backing::Zero, Protection::READ_WRITE)?;
            want_call(vm.run(alarm)?)
        });
        at += PAGE;
        spent
    })?;
    sheet.times("fault", "page fault, mapped, system call", &faults);

    let forks = take(200, || timed(|| snapshot.fork().map(drop)))?;
    sheet.times("bareFork", "fork and drop", &forks);
    let mut vm = snapshot.fork()?;
    let first = timed(|| want_call(vm.run(alarm)?))?;
    let first = first as f64 / 1000.0;
    sheet.say(&format!("{:<34}     {first:8.2}  us", "first request of a fork"));
    sheet.number("bareFirstUs", first);
    vm.reset()?;
    let mut resets = Vec::new();
    let runs = take(5000, || {
        let run = timed(|| want_call(vm.run(alarm)?))?;
        resets.push(timed(|| vm.reset().map(drop))?);
        Ok(run)
    })?;
    let resets = Samples::new(resets);
    sheet.times("bareRun", &format!("request that writes {PAGES} pages"), &runs);
    sheet.times("bareReset", "its reset", &resets);
    vm.check()?;
    let ratio = (runs.at(500) + resets.at(500)) / baseline;
    sheet.say(&format!(
        "{:<34}     {ratio:8.2}  times the baseline",
        "request and reset"
    ));
    Ok(baseline)
}
