//! One trial: plant, see that the plants are there, reset, search.

use std::collections::BTreeMap;

use mayfly_pool::{Instance, LeftOut, Outcome};
use mayfly_vmm::{ResetStep, Unreachable};

use super::evidence::{Baseline, Evidence, Store};
use super::places::{PLACES, Place, Proof};
use super::planter::{PATIENCE_NS, Planter, Result, lines};
use super::protocol::{AVX, AVX512, Ask, Ending};
use super::secrets::Secrets;

/// Deadlines that are tried until the planter was done before.
const DEADLINES_NS: [u64; 4] = [300_000_000, 1_200_000_000, 5_000_000_000, 30_000_000_000];

/// How a trial resets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// As after every request.
    Whole,
    /// Without this step.
    Without(LeftOut),
    /// Wholly, and then the host writes what no program can.
    ThenWrite(Unreachable),
}

/// Whether a secret was in its place before the reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Planted {
    /// It was seen there.
    Yes,
    /// This CPU has no such place, or this ending cannot reach it.
    NoSuchPlace,
    /// It was not: the trial proves nothing.
    No(String),
}

/// What a trial found out about one place.
#[derive(Clone, Debug)]
pub struct Row {
    pub planted: Planted,
    /// Where something of it was left.
    pub left: Vec<String>,
}

/// What a trial found out.
#[derive(Debug)]
pub struct Trial {
    pub rows: BTreeMap<Place, Row>,
    /// What the comparison of everything with the snapshot said, if it found a difference.
    pub unequal: Option<String>,
    /// What the next request saw besides, or how it failed.
    pub seen: Vec<String>,
}

impl Trial {
    /// Whether nothing was left.
    pub fn is_clean(&self) -> bool {
        self.rows.values().all(|row| row.left.is_empty()) && self.unequal.is_none() && self.seen.is_empty()
    }

    /// A place that was not planted.
    pub fn unplanted(&self) -> Option<(Place, &str)> {
        self.rows.iter().find_map(|(place, row)| match &row.planted {
            Planted::No(why) => Some((*place, why.as_str())),
            Planted::Yes | Planted::NoSuchPlace => None,
        })
    }
}

impl Planter {
    /// Plants with this ending in a fresh fork, resets, searches.
    pub fn trial(&mut self, ending: Ending, reset: Reset) -> Result<Trial> {
        let deadlines = match ending {
            Ending::Deadline => &DEADLINES_NS[..],
            Ending::Fault | Ending::Answer => &[PATIENCE_NS],
        };
        let mut last = None;
        for within in deadlines {
            let trial = self.trial_within(ending, reset, *within)?;
            let done = trial.unplanted().is_none();
            last = Some(trial);
            if done {
                break;
            }
        }
        last.ok_or_else(|| "run a trial: no deadline to try".into())
    }

    fn trial_within(&mut self, ending: Ending, reset: Reset, within: u64) -> Result<Trial> {
        let secrets = Secrets::draw()?;
        let needles = secrets.needles();
        let mut instance = self.fork()?;
        let baseline = Baseline::of(&mut instance, &needles)?;
        let (body, rest) = secrets.plant_body(ending);
        let outcome = self.ask(&mut instance, Ask::Plant, &body, &rest, within)?;
        let as_wanted = match ending {
            Ending::Fault => matches!(outcome, Outcome::Killed(4)),
            Ending::Deadline => outcome == Outcome::Timeout,
            Ending::Answer => matches!(outcome, Outcome::Answered(_)),
        };
        if !as_wanted {
            return Err(format!("plant with the ending {ending:?}: the planter {outcome}").into());
        }
        let mapping = secrets.of(Place::PageTables)[0];
        let before = Evidence::collect(&mut instance, &needles, mapping, &baseline)?;
        let mut rows = BTreeMap::new();
        let report = self.read_report(&mut instance);
        for place in PLACES {
            let planted = self.planted(&mut instance, *place, ending, &secrets, &before, &report);
            rows.insert(
                *place,
                Row {
                    planted,
                    left: Vec::new(),
                },
            );
        }
        match reset {
            Reset::Whole => drop(instance.reset()?),
            Reset::Without(step) => instance.reset_without(step)?,
            Reset::ThenWrite(what) => {
                instance.reset()?;
                instance.machine().take_registers()?;
                if !instance
                    .machine()
                    .write_unreachable(what, secrets.of(Place::Bases)[0])?
                {
                    return Err(format!("write {what:?} from the host: KVM refuses it").into());
                }
            }
        }
        let mut trial = Trial {
            rows,
            unequal: None,
            seen: Vec::new(),
        };
        if reset == Reset::Without(LeftOut::Machine(ResetStep::Flush)) {
            // An old translation is in no table: only the next request can meet it, and only if it comes at once.
            self.look(&mut instance, &secrets, &mut trial);
            return Ok(trial);
        }
        instance.machine().take_registers()?;
        let after = Evidence::collect(&mut instance, &needles, mapping, &baseline)?;
        for (place, row) in &mut trial.rows {
            row.left = after.left(*place).into_iter().map(str::to_owned).collect();
        }
        trial.unequal = instance.check().err().map(|e| e.to_string());
        // A machine that is known to be unclean need not run: it could stop at an assertion of its own.
        if trial.is_clean() {
            self.look(&mut instance, &secrets, &mut trial);
        }
        Ok(trial)
    }

    /// Whether the CPU and the ending allow the place, and the plant was seen there.
    fn planted(
        &self,
        instance: &mut Instance,
        place: Place,
        ending: Ending,
        secrets: &Secrets,
        before: &Evidence,
        report: &[i64],
    ) -> Planted {
        let reachable = match place {
            Place::Ymm => self.level >= AVX,
            Place::Zmm | Place::HighZmm | Place::Masks => self.level >= AVX512,
            Place::Output | Place::LastFault => ending != Ending::Answer,
            _ => true,
        };
        if !reachable {
            return Planted::NoSuchPlace;
        }
        let told = report[place as usize];
        if told < 0 && told > -4096 {
            let error = std::io::Error::from_raw_os_error(-told as i32);
            return Planted::No(format!("the planter's call failed: {error}"));
        }
        let words = secrets.of(place);
        // A system call takes RAX, RCX, RDX, RSI, RDI and R11.
        let asked = |index: &usize| {
            place != Place::General || ending != Ending::Answer || ![0, 2, 3, 4, 5, 11].contains(index)
        };
        let indices = (0..words.len()).filter(asked);
        let there = match place.description().proof {
            Proof::Memory => {
                let mut bytes = vec![0; 8 * words.len()];
                let read = instance.machine().space().read(told.cast_unsigned(), &mut bytes);
                let wanted: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                read.is_ok() && bytes == wanted
            }
            Proof::Frames => before.has_all(place, Store::Memory, indices),
            Proof::Registers(name) => before.has_all(place, Store::Registers(name), indices),
            Proof::Table(name) => before.has_all(place, Store::Table(name), indices),
            Proof::Told => {
                let mut bytes = [0; 8];
                let read = instance.machine().space().read(told.cast_unsigned(), &mut bytes);
                read.is_ok()
                    && bytes
                        .as_chunks::<2>()
                        .0
                        .iter()
                        .enumerate()
                        .all(|(index, selector)| {
                            let now = format!("{} ", u16::from_le_bytes(*selector));
                            let clean = self.clean_look.get(&format!("selector {index}"));
                            clean.is_some_and(|clean| !clean.starts_with(&now))
                        })
            }
            proof @ (Proof::RegistersDiffer(_) | Proof::TableDiffers(_) | Proof::Mapped) => {
                before.shows(proof)
            }
        };
        if there {
            Planted::Yes
        } else {
            Planted::No("it was not there before the reset".into())
        }
    }

    /// The next request's view.
    fn look(&mut self, instance: &mut Instance, secrets: &Secrets, trial: &mut Trial) {
        let (body, places) = secrets.needles().look_body();
        let answer = match self.answered(instance, Ask::Look, &body) {
            Ok(answer) => lines(&answer),
            Err(e) => return trial.seen.push(format!("the next request failed: {e}")),
        };
        for (name, value) in &answer {
            if self.clean_look.get(name) == Some(value) {
                continue;
            }
            let found = name
                .strip_prefix("found ")
                .and_then(|index| places.get(index.parse::<usize>().ok()?));
            let (place, what) = match found {
                Some(place) => (Some(*place), format!("seen by the next request at {value}")),
                None => (place_of(name), format!("{name}, told to the next request")),
            };
            match place.and_then(|place| trial.rows.get_mut(&place)) {
                Some(row) => row.left.push(what),
                None => trial.seen.push(what),
            }
        }
        for name in self.clean_look.keys().filter(|name| !answer.contains_key(*name)) {
            trial.seen.push(format!("{name}, not told to the next request"));
        }
        if let Err(e) = instance
            .reset()
            .map_err(|e| e.to_string())
            .and_then(|_| instance.check().map_err(|e| e.to_string()))
        {
            trial.seen.push(format!("after the next request: {e}"));
        }
    }
}

/// The place that a line of the next request's answer is about, where there is one.
fn place_of(name: &str) -> Option<Place> {
    let starts = [
        ("working directory", Place::Folder),
        ("umask", Place::Process),
        ("dumpable", Place::Process),
        ("thread's name", Place::ThreadName),
        ("signal mask", Place::SignalMask),
        ("signal ", Place::Handler),
        ("pending", Place::Pending),
        ("alternate stack", Place::AltStack),
        ("interval timer", Place::Alarm),
        ("limit ", Place::ResourceLimits),
        ("robust list", Place::RobustList),
        ("end of heap", Place::Break),
        ("descriptor ", Place::Numbers),
        ("monotonic clock", Place::Clock),
        ("page that was remapped", Place::Translation),
        ("x87", Place::Control),
        ("MXCSR", Place::Control),
        ("selector", Place::Selectors),
        ("FS base", Place::Bases),
        ("GS base", Place::Bases),
        ("files in /tmp", Place::FileContent),
        ("Threads", Place::Running),
        ("mapping ", Place::Mapping),
    ];
    let found = starts.into_iter().find(|(start, _)| name.starts_with(start));
    found.map(|(_, place)| place)
}
