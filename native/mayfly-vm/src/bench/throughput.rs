//! How many requests a second two threads answer, and what part that is of what two cores could at best.
//!
//! A virtual core is quicker in one second than in the next, so the baseline is taken before and after each turn:
//!
//! ```text
//! baseline  two threads  baseline   baseline  pool of two  baseline   baseline  two threads ...
//! ```

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use mayfly_pool::{Instance, Job, Pool, Program};
use mayfly_vmm::{Alarm, Host, monotonic_ns};

use super::bare::baseline_now;
use super::request::{check, frame};
use super::sheet::Sheet;

/// Turns of each kind; the median one is told.
const TURNS: usize = 9;
/// Requests of a turn.
const REQUESTS: u64 = 5000;
/// Requests of a machine before those that count: they make its pages private.
const FIRST: u64 = 100;
/// Round trips of a look at the baseline.
const TRIPS: usize = 500;
const TIMEOUT_NS: u64 = 5_000_000_000;

/// Hellos on two threads with a machine each, then through a pool of two workers with the host's thread beside them.
pub fn throughput(
    host: &Arc<Host>,
    program: &Arc<Program>,
    alarm: &mut Alarm,
    sheet: &mut Sheet,
) -> Result<(), Box<dyn Error>> {
    let (mut threads, mut pools) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        threads.push(turn(host, alarm, || two_threads(program))?);
        pools.push(turn(host, alarm, || pooled(program))?);
    }
    tell("twoThreads", "two threads", threads, sheet);
    tell("poolOfTwo", "pool of two workers", pools, sheet);
    Ok(())
}

/// Requests a second in one turn, and two baselines around it.
struct Turn {
    rate: f64,
    baseline: f64,
}

impl Turn {
    /// The part of what two cores do at the baseline.
    fn share(&self) -> f64 {
        self.rate * self.baseline * 1e-6 / 2.0
    }
}

fn turn(
    host: &Arc<Host>,
    alarm: &mut Alarm,
    rate: impl FnOnce() -> Result<f64, Box<dyn Error>>,
) -> Result<Turn, Box<dyn Error>> {
    let before = baseline_now(host, alarm, TRIPS)?;
    let rate = rate()?;
    let after = baseline_now(host, alarm, TRIPS)?;
    Ok(Turn {
        rate,
        baseline: (before + after) / 2.0,
    })
}

fn tell(name: &str, what: &str, mut turns: Vec<Turn>, sheet: &mut Sheet) {
    turns.sort_by(|a, b| a.share().total_cmp(&b.share()));
    let Some(Turn { rate, baseline }) = turns.get(turns.len() / 2) else {
        return;
    };
    let share = |at: usize| turns.get(at).map_or(0.0, Turn::share);
    sheet.say(&format!(
        "{what}: {rate:.0} requests a second, {:.2} of two baselines of {baseline:.2} us ({:.2} to {:.2} in {} turns)",
        share(turns.len() / 2),
        share(0),
        share(turns.len() - 1),
        turns.len(),
    ));
    sheet.number(name, *rate);
    sheet.number(&format!("{name}BaselineUs"), *baseline);
}

fn two_threads(program: &Arc<Program>) -> Result<f64, Box<dyn Error>> {
    let both = Barrier::new(2);
    let alone = || -> Result<f64, String> {
        let text = |e: mayfly_vmm::Error| e.to_string();
        let (mut alarm, mut seen) = (Alarm::new().map_err(text)?, BTreeSet::new());
        let instance = Instance::new(program).map_err(text);
        // Also without a machine, or the other thread would wait for ever.
        both.wait();
        let mut instance = instance?;
        let mut begin = Instant::now();
        for i in 0..FIRST + REQUESTS / 2 {
            if i == FIRST {
                begin = Instant::now();
            }
            let outcome = instance.handle(frame("hello"), &mut alarm, monotonic_ns() + TIMEOUT_NS);
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
    Ok(rate)
}

fn pooled(program: &Arc<Program>) -> Result<f64, Box<dyn Error>> {
    const FLIGHT: u64 = 64;
    let pool = Pool::start(2, FLIGHT as usize)?;
    pool.prepare(program);
    let job = |id| Job {
        id,
        program: program.clone(),
        flow: 0,
        weight: 1,
        frame: frame("hello"),
        timeout_ns: TIMEOUT_NS,
        keep: false,
        check: false,
        channel: None,
    };
    let (mut submitted, mut done, mut batch, mut seen) = (0, 0, Vec::new(), BTreeSet::new());
    let mut begin = Instant::now();
    while done < REQUESTS {
        while submitted < REQUESTS && submitted - done < FLIGHT {
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
    Ok((REQUESTS - FLIGHT) as f64 / begin.elapsed().as_secs_f64())
}
