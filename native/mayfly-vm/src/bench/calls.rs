//! A search for the calls that keep the host longest: machines that a hostile program may have prepared, calls that are dear in them by
//! design, and every call with arguments drawn from what there is.

mod scenes;
mod subject;

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mayfly_linux::syscall::{name, number};
use mayfly_vmm::{Alarm, Host};

use super::sheet::Sheet;
use scenes::{Props, SCENES};
use subject::{Call, Cost, Start, Subject};

/// How long arguments are drawn for each scene.
const SEARCH: Duration = Duration::from_secs(2);
/// Calls that are measured anew at the end, and how often; the median counts.
const KEPT: usize = 24;
const REPEATS: usize = 5;
/// What the search is for: a piece of a call that takes longer, in microseconds.
const WANTED_US: f64 = 2000.0;

/// Numbers without end, the same in each run.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        // xorshift64* (Vigna, 2016).
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 32) % end
    }

    fn argument(&mut self, values: &[u64]) -> u64 {
        match self.below(8) {
            0..=4 => values[self.below(values.len() as u64) as usize],
            5 => self.below(70),
            6 => 1 << self.below(48),
            _ => u64::MAX,
        }
    }

    fn call(&mut self, props: &Props) -> Call {
        loop {
            let call = self.below(462);
            // These end the thread or the program, and nothing else.
            let ends = matches!(call, number::exit | number::exit_group | number::rt_sigreturn);
            if number::name(call).is_some() && !ends {
                return (call, std::array::from_fn(|_| self.argument(&props.values)));
            }
        }
    }
}

/// A call that was measured.
struct Found {
    scene: usize,
    call: Call,
    cost: Cost,
}

/// Searches all scenes and tells the slowest calls.
pub fn calls(host: &Arc<Host>, alarm: &mut Alarm, sheet: &mut Sheet) -> Result<(), Box<dyn Error>> {
    let mut found: BTreeMap<(usize, Call), Cost> = BTreeMap::new();
    let mut starts = Vec::new();
    let mut draw = Draw(0x9e37_79b9_7f4a_7c15);
    let mut made = 0_u64;
    for (scene, (_, prepare)) in SCENES.iter().enumerate() {
        let mut subject = Subject::new(host)?;
        let props = prepare(&mut subject);
        let start = subject.freeze()?;
        let mut subject = start.fork()?;
        let begin = Instant::now();
        let mut dear = props.dear.iter().copied();
        loop {
            let call = match dear.next() {
                Some(call) => call,
                None if begin.elapsed() > SEARCH => break,
                None => draw.call(&props),
            };
            let cost = measure(&start, &mut subject, alarm, call)?;
            made += 1;
            let slowest = found.entry((scene, call)).or_default();
            if cost.piece > slowest.piece {
                *slowest = cost;
            }
        }
        starts.push(start);
    }
    let mut slowest: Vec<Found> = found
        .into_iter()
        .map(|((scene, call), cost)| Found { scene, call, cost })
        .collect();
    slowest.sort_unstable_by_key(|found| std::cmp::Reverse(found.cost.piece));
    slowest.truncate(KEPT);
    for found in &mut slowest {
        found.cost = again(&starts[found.scene], alarm, found.call)?;
    }
    slowest.sort_unstable_by_key(|found| std::cmp::Reverse(found.cost.piece));
    tell(&slowest, made, sheet);
    Ok(())
}

/// A call in the state of a start, to which the machine is put back.
fn measure(start: &Start, subject: &mut Subject, alarm: &mut Alarm, call: Call) -> mayfly_vmm::Result<Cost> {
    alarm.set(None)?;
    let cost = subject.measure(alarm, call)?;
    start.reset(subject)?;
    Ok(cost)
}

/// The median of a call's costs, each in a machine of its own.
fn again(start: &Start, alarm: &mut Alarm, call: Call) -> mayfly_vmm::Result<Cost> {
    let mut costs = Vec::new();
    for _ in 0..REPEATS {
        let mut subject = start.fork()?;
        costs.push(measure(start, &mut subject, alarm, call)?);
    }
    costs.sort_unstable_by_key(|cost| cost.piece);
    Ok(costs[REPEATS / 2])
}

fn tell(slowest: &[Found], made: u64, sheet: &mut Sheet) {
    sheet.say(&format!(
        "{made} calls in {} scenes; the longest pieces, in microseconds of the CPU with the way into ring 3 and back:",
        SCENES.len()
    ));
    for Found { scene, call, cost } in slowest {
        let us = |ns: u64| ns as f64 / 1000.0;
        sheet.say(&format!(
            "{:>9.1} of {:>11.1} in {:>6} pieces  {:<16} {:<16} {:x?}",
            us(cost.piece),
            us(cost.total),
            cost.pieces,
            SCENES[*scene].0,
            name(call.0).to_string(),
            call.1
        ));
    }
    let longest = slowest
        .first()
        .map_or(0.0, |found| found.cost.piece as f64 / 1000.0);
    sheet.number("longestPieceUs", longest);
    sheet.say(&format!("wanted: none above {WANTED_US} us"));
}
