//! Many requests in one fork, some of them bad: nothing of the host's may grow.

use std::error::Error;
use std::fs;
use std::sync::Arc;

use mayfly_pool::{Instance, Outcome, Program};
use mayfly_vmm::{Alarm, monotonic_ns};

use super::request::frame;
use super::sheet::Sheet;

/// What this process holds.
struct Resources {
    resident_kib: u64,
    files: usize,
    maps: usize,
}

fn resources() -> std::io::Result<Resources> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|l| l.strip_prefix("VmRSS:"))
        .unwrap_or_default();
    Ok(Resources {
        resident_kib: line.trim().trim_end_matches(" kB").parse().unwrap_or(0),
        files: fs::read_dir("/proc/self/fd")?.count(),
        maps: fs::read_to_string("/proc/self/maps")?.lines().count(),
    })
}

/// Asks hellos, every thousandth request a memory hog and every five thousandth an endless loop, and tells what grew.
pub fn soak(
    program: &Arc<Program>,
    alarm: &mut Alarm,
    requests: u64,
    sheet: &mut Sheet,
) -> Result<(), Box<dyn Error>> {
    let mut instance = Instance::new(program)?;
    let mut held = Vec::new();
    let mut wrong = 0;
    let (mut late, mut expected) = (0, None);
    for i in 0..requests {
        let (body, timeout) = match i {
            i if i % 5000 == 4999 => ("spin", 2_000_000),
            i if i % 1000 == 999 => ("hog", 5_000_000_000),
            _ => ("hello", 5_000_000_000),
        };
        let deadline = monotonic_ns() + timeout;
        let outcome = instance.handle(frame(body), alarm, deadline)?;
        if body == "spin" {
            late = late.max(monotonic_ns() - deadline);
        }
        instance.reset()?;
        let right = match (body, outcome) {
            ("spin", Outcome::Timeout) | ("hog", Outcome::Answered(_)) => true,
            ("hello", Outcome::Answered(answer)) => *expected.get_or_insert_with(|| answer.clone()) == answer,
            _ => false,
        };
        wrong += u64::from(!right);
        if (i + 2) % (requests / 5) == 0 {
            held.push(resources()?);
        }
    }
    instance.check()?;
    sheet.say(&format!(
        "soak: {requests} requests, {wrong} wrong answers, a loop stopped at most {} us after its deadline",
        late / 1000
    ));
    sheet.number("soakWrong", wrong as f64);
    for (fifth, h) in held.iter().enumerate() {
        sheet.say(&format!(
            "  after {}/5: {} KiB resident, {} files, {} maps",
            fifth + 1,
            h.resident_kib,
            h.files,
            h.maps
        ));
    }
    if wrong > 0 {
        Err(format!("soak: {wrong} wrong answers, want none").into())
    } else {
        Ok(())
    }
}

/// Host memory of forks that have answered one request: their own pages, the host's page tables for them, and what the whole
/// host has less, KVM's tables included (other work on the host disturbs that one).
pub fn fork_memory(
    program: &Arc<Program>,
    alarm: &mut Alarm,
    sheet: &mut Sheet,
) -> Result<(), Box<dyn Error>> {
    const FORKS: u64 = 50;
    let mut forks = Vec::new();
    let before = Memory::now()?;
    for _ in 0..FORKS {
        let mut fork = Instance::new(program)?;
        fork.handle(frame("hello"), alarm, monotonic_ns() + 5_000_000_000)?;
        fork.reset()?;
        forks.push(fork);
    }
    let after = Memory::now()?;
    let each = |before: u64, after: u64| after.saturating_sub(before) / FORKS;
    let own = each(before.own, after.own);
    let tables = each(before.tables, after.tables);
    let available = each(after.available, before.available);
    sheet.say(&format!(
        "memory of a fork: {own} KiB of its own, {tables} KiB of page tables, {available} KiB less available on the host"
    ));
    sheet.number("forkOwnKib", own as f64);
    sheet.number("forkTablesKib", tables as f64);
    sheet.number("forkAvailableKib", available as f64);
    Ok(())
}

/// Memory in KiB.
struct Memory {
    own: u64,
    tables: u64,
    available: u64,
}

impl Memory {
    fn now() -> std::io::Result<Memory> {
        let read = |path: &str, name: &str| -> std::io::Result<u64> {
            let text = fs::read_to_string(path)?;
            let line = text
                .lines()
                .find_map(|l| l.strip_prefix(name))
                .unwrap_or_default();
            Ok(line.trim().trim_end_matches(" kB").parse().unwrap_or(0))
        };
        Ok(Memory {
            own: read("/proc/self/smaps_rollup", "Private_Dirty:")?,
            tables: read("/proc/self/status", "VmPTE:")?,
            available: read("/proc/meminfo", "MemAvailable:")?,
        })
    }
}
