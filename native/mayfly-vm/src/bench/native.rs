//! What requests to a program by `mayfly.h` cost, beside the baseline of the same moment.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use mayfly_pool::{Instance, Program, Spec, WarmupRequest};
use mayfly_vmm::{Alarm, Host, monotonic_ns};
use mayfly_wire::{Head, Kind};

use super::bare::baseline_now;
use super::request::check;
use super::sheet::{Samples, Sheet};

/// Looks at baseline and program, in turn: the median of what lies between is told.
const TURNS: usize = 9;
/// Requests of a turn, and round trips of its baseline.
const REQUESTS: usize = 1000;
/// Requests before the snapshot.
const WARMUP: i32 = 100;
const TIMEOUT_NS: u64 = 5_000_000_000;

/// A request for `/`, as `src/isolate/wire/message.ts` lays it out.
fn request() -> Vec<u8> {
    let header = format!(
        "0\tGET\thttp://localhost/\t/\t127.0.0.1\t127.0.0.1\t\n[\"host\",\"localhost\",\"accept\",\"*/*\"]\n{}",
        "5f".repeat(32)
    );
    let head = Head {
        kind: Kind::Request,
        header_bytes: header.len() as u32,
        body_bytes: 0,
    };
    [&head.encode()[..], header.as_bytes()].concat()
}

/// Boots the program, warms it up, and measures a fork of it.
pub fn native(
    host: &Arc<Host>,
    alarm: &mut Alarm,
    path: &Path,
    sheet: &mut Sheet,
) -> Result<(), Box<dyn Error>> {
    let spec = Spec::command(path, &["program".into()])?;
    let mut left = WARMUP;
    let program = Arc::new(Program::boot(host, &spec, &mut |_| {
        left -= 1;
        (left >= 0).then(|| WarmupRequest::new(request()))
    })?);
    let boot = program.report().boot_ns as f64 / 1e6;
    sheet.say(&format!("native program: boot {boot:.1} ms"));
    sheet.number("nativeBootMs", boot);
    let mut instance = Instance::new(&program)?;
    let (mut runs, mut resets, mut over, mut ratios) = (vec![], vec![], vec![], vec![]);
    let (mut seen, mut pages) = (BTreeSet::new(), 0);
    for _ in 0..TURNS {
        let before = baseline_now(host, alarm, REQUESTS)?;
        let mut wholes = Vec::new();
        for _ in 0..REQUESTS {
            let begin = Instant::now();
            let outcome = instance.handle(request(), alarm, monotonic_ns() + TIMEOUT_NS)?;
            let ran = Instant::now();
            pages = instance.reset()?.pages;
            let end = Instant::now();
            runs.push((ran - begin).as_nanos() as u64);
            resets.push((end - ran).as_nanos() as u64);
            wholes.push((end - begin).as_nanos() as u64);
            check("native", outcome, &mut seen)?;
        }
        let baseline = f64::midpoint(before, baseline_now(host, alarm, REQUESTS)?);
        let whole = Samples::new(wholes).at(500);
        over.push(whole - baseline);
        ratios.push(whole / baseline);
    }
    instance.check()?;
    sheet.times("nativeRun", "  run", &Samples::new(runs));
    sheet.times("nativeReset", "  reset", &Samples::new(resets));
    let (over, ratio) = (median(over), median(ratios));
    sheet.say(&format!(
        "  {pages} dirty pages, {over:.2} us over the baseline beside it, {ratio:.2} times that baseline"
    ));
    sheet.number("nativeOverBaselineUs", over);
    sheet.number("nativeBaselines", ratio);
    Ok(())
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_unstable_by(f64::total_cmp);
    all[all.len() / 2]
}
