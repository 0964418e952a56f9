//! What requests to stock Deno in a machine cost.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mayfly_pool::{Instance, Job, Limits, Outcome, Pool, Program, WarmupRequest, deno_spec};
use mayfly_vmm::{Alarm, Host, monotonic_ns};
use mayfly_wire::{HEAD_BYTES, Head, Kind};

use super::filter::filter;
use super::sheet::{Samples, Sheet};
use super::soak::{fork_memory, soak};

/// Requests of the soak.
const SOAK: u64 = 50_000;
/// Requests before the snapshot.
const WARMUP: i32 = 500;

/// A request frame whose header says nothing.
pub fn frame(body: &str) -> Vec<u8> {
    let head = Head {
        kind: Kind::Request,
        header_bytes: 2,
        body_bytes: body.len() as u32,
    };
    [&head.encode()[..], b"{}", body.as_bytes()].concat()
}

/// Boots stock Deno with a small handler once for each kind of request, warmed by that kind, and measures forks of it.
pub fn isolated(
    host: &Arc<Host>,
    alarm: &mut Alarm,
    deno: &Path,
    floor: f64,
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
            throughput(&program, floor, sheet)?;
            fork_memory(&program, alarm, sheet)?;
            soak(&program, alarm, SOAK, sheet)?;
        }
        measure(&program, body, alarm, floor, sheet)?;
    }
    Ok(())
}

/// Hellos on two threads with a machine each, then through a pool of two workers with the host's thread beside them.
fn throughput(program: &Arc<Program>, floor: f64, sheet: &mut Sheet) -> Result<(), Box<dyn Error>> {
    const REQUESTS: u64 = 20_000;
    let mut tell = |name: &str, what: &str, rate: f64| {
        let share = rate / (2.0 / (floor * 1e-6));
        sheet.say(&format!(
            "{what}: {rate:.0} requests a second, {share:.2} of two floors"
        ));
        sheet.number(name, rate);
    };
    let alone = || -> Result<f64, String> {
        let text = |e: mayfly_vmm::Error| e.to_string();
        let (mut alarm, mut seen) = (Alarm::new().map_err(text)?, BTreeSet::new());
        let mut instance = Instance::new(program).map_err(text)?;
        let mut begin = Instant::now();
        for i in 0..=REQUESTS / 2 {
            if i == 1 {
                begin = Instant::now(); // the first one pays for the fork
            }
            let outcome = instance.handle(frame("hello"), &mut alarm, monotonic_ns() + 5_000_000_000);
            check("hello", outcome.map_err(text)?, &mut seen)?;
            instance.reset().map_err(text)?;
        }
        Ok(begin.elapsed().as_secs_f64())
    };
    let times = std::thread::scope(|scope| {
        let threads = [scope.spawn(alone), scope.spawn(alone)];
        threads.map(|t| {
            t.join()
                .unwrap_or_else(|_| Err("a measuring thread panicked".into()))
        })
    });
    let mut rate = 0.0;
    for time in times {
        rate += (REQUESTS / 2) as f64 / time?;
    }
    tell("twoThreads", "two threads", rate);
    tell("poolOfTwo", "pool of two workers", pooled(program, REQUESTS)?);
    Ok(())
}

fn pooled(program: &Arc<Program>, requests: u64) -> Result<f64, Box<dyn Error>> {
    const FLIGHT: u64 = 64;
    let pool = Pool::start(2, FLIGHT as usize)?;
    pool.prepare(program);
    let job = |id| Job {
        id,
        program: program.clone(),
        line: 0,
        frame: frame("hello"),
        timeout_ns: 5_000_000_000,
        keep: false,
        check: false,
    };
    let (mut submitted, mut done, mut batch, mut seen) = (0, 0, Vec::new(), BTreeSet::new());
    let mut begin = Instant::now();
    while done < requests {
        while submitted < requests && submitted - done < FLIGHT {
            pool.submit(job(submitted))
                .map_err(|(job, why)| format!("request {}: {why:?}", job.id))?;
            submitted += 1;
        }
        if pool.fetch(&mut batch, FLIGHT as usize, Duration::from_secs(10)) == 0 {
            return Err(format!("measured pool: no answer in 10 s after {done}").into());
        }
        for completion in batch.drain(..) {
            check("hello", completion.outcome, &mut seen)?;
            done += 1;
            if done == FLIGHT {
                begin = Instant::now(); // the forks are made
            }
        }
    }
    Ok((requests - FLIGHT) as f64 / begin.elapsed().as_secs_f64())
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

/// The answers must all be equal, since each request meets the same snapshot; random ones must all differ.
fn check(body: &str, outcome: Outcome, seen: &mut BTreeSet<Vec<u8>>) -> Result<(), String> {
    let Outcome::Answered(frame) = outcome else {
        return Err(format!("measured request {body}: {outcome}"));
    };
    let text = frame.get(HEAD_BYTES + 2..).unwrap_or_default().to_vec();
    let (first, new) = (seen.is_empty(), seen.insert(text.clone()));
    if first || new == (body == "uuid") {
        return Ok(());
    }
    Err(format!(
        "measured request {body}: unexpected answer {}",
        String::from_utf8_lossy(&text)
    ))
}

fn measure(
    program: &Arc<Program>,
    body: &str,
    alarm: &mut Alarm,
    floor: f64,
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
    let ratio = (runs.at(500) + resets.at(500)) / floor;
    sheet.say(&format!(
        "{body:<6} fork {forked} us, first {first} us, {exits} exits, {pages} dirty pages, {ratio:.2} times the floor"
    ));
    sheet.times(&format!("{body}Run"), "  run", &runs);
    sheet.times(&format!("{body}Reset"), "  reset", &resets);
    sheet.number(&format!("{body}Pages"), pages as f64);
    Ok(())
}
