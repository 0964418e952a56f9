//! What requests to stock Deno in a machine cost.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use mayfly_pool::{Instance, Limits, Program, WarmupRequest, deno_spec};
use mayfly_vmm::{Alarm, Host, monotonic_ns};

use super::filter::filter;
use super::request::{check, frame};
use super::sheet::{Samples, Sheet};
use super::soak::{fork_memory, soak};
use super::throughput::throughput;

/// Requests of the soak.
const SOAK: u64 = 50_000;
/// Requests before the snapshot.
const WARMUP: i32 = 500;

/// Boots stock Deno with a small handler once for each kind of request, warmed by that kind, and measures forks of it.
pub fn isolated(
    host: &Arc<Host>,
    alarm: &mut Alarm,
    deno: &Path,
    baseline: f64,
    sheet: &mut Sheet,
) -> Result<(), Box<dyn Error>> {
    let spec = deno_spec(
        deno,
        include_bytes!("../../guest/hello.js").to_vec(),
        Limits::default(),
    );
    for body in ["hello", "roots", "timer", "hog"] {
        // A hog in the warm-up would make the snapshot one.
        let warm = if body == "hog" { "hello" } else { body };
        let mut left = WARMUP;
        let program = Arc::new(Program::boot(host, &spec, &mut |_| {
            left -= 1;
            (left >= 0).then(|| WarmupRequest::new(frame(warm)))
        })?);
        if body == "hello" {
            tell_boot(&program, sheet);
            forks(&program, sheet)?;
            filter(&program, sheet)?;
            throughput(host, &program, alarm, sheet)?;
            fork_memory(&program, alarm, sheet)?;
            soak(&program, alarm, SOAK, sheet)?;
        }
        measure(&program, body, alarm, baseline, sheet)?;
    }
    Ok(())
}

fn tell_boot(program: &Program, sheet: &mut Sheet) {
    let r = program.report();
    let (boot, warmup) = (r.boot_ns as f64 / 1e6, r.warmup_ns as f64 / 1e6);
    let memory = r.memory_bytes as f64 / 1048576.0;
    sheet.say(&format!(
        "Deno: boot {boot:.1} ms, {} warm-up requests {warmup:.1} ms, {} exits, {memory:.1} MiB",
        r.warmup_requests, r.exits
    ));
    sheet.number("bootMs", boot);
    sheet.number("warmupMs", warmup);
}

/// Forks that are dropped at once.
fn forks(program: &Arc<Program>, sheet: &mut Sheet) -> Result<(), Box<dyn Error>> {
    let mut all = Vec::new();
    for _ in 0..50 {
        let start = Instant::now();
        let fork = Instance::new(program)?;
        all.push(start.elapsed().as_nanos() as u64);
        drop(fork);
    }
    sheet.times("fork", "fork of Deno", &Samples::new(all));
    Ok(())
}

fn measure(
    program: &Arc<Program>,
    body: &str,
    alarm: &mut Alarm,
    baseline: f64,
    sheet: &mut Sheet,
) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let mut instance = Instance::new(program)?;
    let forked = start.elapsed().as_micros();
    let count = if body == "hog" { 20 } else { 2000 };
    let (mut runs, mut resets, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
    let (mut pages, mut exits) = (0, 0);
    for _ in 0..count {
        let before = instance.exits();
        let begin = Instant::now();
        let outcome = instance.handle(frame(body), alarm, monotonic_ns() + 5_000_000_000)?;
        let ran = Instant::now();
        let report = instance.reset()?;
        resets.push(ran.elapsed().as_nanos() as u64);
        runs.push((ran - begin).as_nanos() as u64);
        check(body, outcome, &mut seen)?;
        (pages, exits) = (report.pages, instance.exits() - before);
    }
    instance.check()?;
    let first = runs[0] / 1000;
    let (runs, resets) = (Samples::new(runs), Samples::new(resets));
    let ratio = (runs.at(500) + resets.at(500)) / baseline;
    sheet.say(&format!(
        "{body:<6} fork {forked} us, first {first} us, {exits} exits, {pages} dirty pages, {ratio:.2} times the baseline"
    ));
    sheet.times(&format!("{body}Run"), "  run", &runs);
    sheet.times(&format!("{body}Reset"), "  reset", &resets);
    sheet.number(&format!("{body}Pages"), pages as f64);
    Ok(())
}
