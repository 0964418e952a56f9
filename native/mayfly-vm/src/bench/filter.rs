//! What the system-call filter of VM threads costs: the same requests with it and without it, in turn.

use std::error::Error;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use mayfly_pool::{Instance, Outcome, Program, run_confined};
use mayfly_vmm::{Alarm, monotonic_ns};

use super::request::frame;
use super::sheet::{Samples, Sheet};

/// Turns of each kind.
const TURNS: u32 = 8;
/// Requests of a turn.
const REQUESTS: u32 = 2000;

/// Measures whole requests, run and reset, on threads of both kinds.
pub fn filter(program: &Arc<Program>, sheet: &mut Sheet) -> Result<(), Box<dyn Error>> {
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let open =
            || -> Result<Vec<u64>, String> { turn(program, &mut Alarm::new().map_err(|e| e.to_string())?) };
        let open = thread::scope(|scope| scope.spawn(open).join());
        without.extend(open.unwrap_or_else(|_| Err("a measuring thread panicked".into()))?);
        with.extend(run_confined("measured", |alarm| turn(program, alarm))??);
    }
    let (without, with) = (Samples::new(without), Samples::new(with));
    let ratio = with.at(500) / without.at(500);
    sheet.say(&format!(
        "system-call filter: {ratio:.3} times a hello without it"
    ));
    sheet.times("helloUnfiltered", "  without", &without);
    sheet.times("helloFiltered", "  with", &with);
    sheet.number("filterRatio", ratio);
    Ok(())
}

fn turn(program: &Arc<Program>, alarm: &mut Alarm) -> Result<Vec<u64>, String> {
    let text = |e: mayfly_vmm::Error| e.to_string();
    let mut instance = Instance::new(program).map_err(text)?;
    let mut times = Vec::with_capacity(REQUESTS as usize);
    for i in 0..REQUESTS {
        let begin = Instant::now();
        let outcome = instance.handle(frame("hello"), alarm, monotonic_ns() + 5_000_000_000);
        instance.reset().map_err(text)?;
        // The first ones make pages private.
        if i >= 100 {
            times.push(begin.elapsed().as_nanos() as u64);
        }
        match outcome.map_err(text)? {
            Outcome::Answered(_) => {}
            other => return Err(format!("measured request: {other}")),
        }
    }
    Ok(times)
}
