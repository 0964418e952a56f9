//! The order of warm-up requests: group after group, and in a group the frames in turn until each has run as often as wanted, has
//! used up its time, or has become no faster any more.
//!
//! ```text
//! CPU time of a frame  |- window -|- window -|------ window ------|---------------- window ----------------| ... most
//! mean of a run            57 ms      31 ms          12 ms                       11.5 ms: steady, it ends
//! ```
//!
//! A group that has a gauge goes on behind that, round by round, until its gauge gives one answer for [`CALM_ROUNDS`] rounds. The gauge tells
//! how much code the program's engine has compiled. An engine that was about to compile when the snapshot was taken would do so in every
//! request, as a reset takes the code away again.

use std::time::{Duration, Instant};

use mayfly_pool::WarmupRequest;

use crate::verdict::tells_of_an_error;

/// A frame of the warm-up.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What runs.
    pub request: WarmupRequest,
    /// How often it runs.
    pub runs: u32,
    /// Time after which its runs are first compared, in nanoseconds.
    pub window_ns: u64,
    /// Time for all runs together, in nanoseconds; none begins after it.
    pub most_ns: u64,
    /// Neighbours of equal number run in turn.
    pub group: u32,
    /// Its last answer is kept.
    pub tell: bool,
    /// It is no request: its answer tells whether the rounds of its group still change the program.
    pub gauge: bool,
}

/// Rounds in a row behind which a gauge gives the answer of before: then the group ends.
const CALM_ROUNDS: u32 = 8;
/// Most rounds until then.
const MOST_ROUNDS: u32 = 500;
/// A group's frames may take this share of the time of all their runs for rounds that its gauge judges.
const CALM_SHARE: u64 = 3;
/// A window holds at least so many runs: fewer say little.
const WINDOW_RUNS: u32 = 8;
/// A window goes on to another one if its mean run took at most this share of the mean before.
const FASTER: f64 = 0.9;
/// Wall-clock time after which only frames that tell still run: a busy host must not make the boot late.
const LONGEST: Duration = Duration::from_secs(40);

/// Gives the frames one by one and keeps the answers that were asked for.
#[derive(Debug)]
pub struct Plan {
    entries: Vec<Entry>,
    progress: Vec<Progress>,
    /// The first entry of the group that runs.
    start: usize,
    /// The entry that ran last, if any.
    last: Option<usize>,
    /// When the first frame was asked for.
    begun: Option<Instant>,
    /// How calm the group is that runs; its entries have run as often as wanted.
    calm: Option<Calm>,
}

/// Rounds of a group until its gauge is still.
#[derive(Clone, Debug)]
struct Calm {
    /// What is to run in this round.
    left: Vec<usize>,
    spent_ns: u64,
    /// Last answer of the gauge.
    gauged: Vec<u8>,
    rounds: u32,
    still: u32,
}

/// How far an entry is.
#[derive(Clone, Debug)]
struct Progress {
    runs_left: u32,
    spent_ns: u64,
    /// Of its quickest run.
    quickest_ns: u64,
    pace: Pace,
    answer: Vec<u8>,
    /// The last answer told of an error.
    failed: bool,
}

/// Whether a frame still becomes faster.
#[derive(Clone, Debug)]
struct Pace {
    /// Time at which the window is full.
    window_ns: u64,
    ns: u64,
    runs: u32,
    /// Mean run of the window before, in nanoseconds.
    before: Option<f64>,
    steady: bool,
}

impl Pace {
    fn new(window_ns: u64) -> Pace {
        Pace {
            window_ns,
            ns: 0,
            runs: 0,
            before: None,
            steady: false,
        }
    }

    fn note(&mut self, ns: u64) {
        self.ns = self.ns.saturating_add(ns);
        self.runs += 1;
        if self.ns < self.window_ns || self.runs < WINDOW_RUNS {
            return;
        }
        let mean = self.ns as f64 / f64::from(self.runs);
        // The second window is as long as the first; from then on each is as long as all before it.
        let window_ns = match self.before {
            None => self.window_ns,
            Some(_) => self.window_ns.saturating_mul(2),
        };
        let steady = self.before.is_some_and(|before| mean > before * FASTER);
        *self = Pace {
            before: Some(mean),
            steady,
            ..Pace::new(window_ns)
        };
    }
}

impl Plan {
    /// A plan over the entries, in their order.
    pub fn new(entries: Vec<Entry>) -> Plan {
        let begin = |e: &Entry| Progress {
            runs_left: e.runs,
            spent_ns: 0,
            quickest_ns: u64::MAX,
            pace: Pace::new(e.window_ns),
            answer: Vec::new(),
            failed: false,
        };
        Plan {
            progress: entries.iter().map(begin).collect(),
            entries,
            start: 0,
            last: None,
            begun: None,
            calm: None,
        }
    }

    /// Hears the answer to the last frame, and the nanoseconds that it took.
    pub fn hear(&mut self, answer: &[u8], ns: u64) {
        let Some(last) = self.last else { return };
        let progress = &mut self.progress[last];
        progress.spent_ns = progress.spent_ns.saturating_add(ns);
        progress.quickest_ns = progress.quickest_ns.min(ns);
        progress.pace.note(ns);
        if self.entries[last].tell {
            progress.answer = answer.to_vec();
        }
        progress.failed = !self.entries[last].gauge && tells_of_an_error(answer);
        let Some(calm) = &mut self.calm else { return };
        calm.spent_ns = calm.spent_ns.saturating_add(ns);
        if self.entries[last].gauge {
            calm.still = match calm.gauged == answer {
                true => calm.still + 1,
                false => 0,
            };
            calm.gauged = answer.to_vec();
        }
    }

    /// The next request to run.
    pub fn next(&mut self) -> Option<WarmupRequest> {
        let late = self.begun.get_or_insert_with(Instant::now).elapsed() > LONGEST;
        while let Some(first) = self.entries.get(self.start) {
            let group = first.group;
            let length = self.entries[self.start..]
                .iter()
                .take_while(|e| e.group == group)
                .count();
            let end = self.start + length;
            let after = self.last.map_or(0, |last| (last + 1).saturating_sub(self.start));
            let mut turn = (0..length).map(|i| self.start + (after + i) % length);
            if self.calm.is_none()
                && let Some(index) = turn.find(|i| self.is_due(*i, late))
            {
                self.progress[index].runs_left -= 1;
                return Some(self.ask(index));
            }
            if !late && let Some(index) = self.next_of_round(end) {
                return Some(self.ask(index));
            }
            self.calm = None;
            self.start = end;
        }
        None
    }

    fn ask(&mut self, index: usize) -> WarmupRequest {
        self.last = Some(index);
        self.entries[index].request.clone()
    }

    /// The next entry of the rounds that a gauge judges, in the group up to `end`; each round ends with the gauge, and so does what is
    /// before the first. `None`: there is no gauge, it is still, or the rounds' time is over.
    fn next_of_round(&mut self, end: usize) -> Option<usize> {
        let group = self.start..end;
        let gauge = group.clone().find(|i| self.entries[*i].gauge)?;
        let ran = |i: &usize| !self.entries[*i].gauge && self.progress[*i].quickest_ns < u64::MAX;
        let calm = self.calm.get_or_insert_with(|| Calm {
            left: vec![gauge],
            spent_ns: 0,
            gauged: Vec::new(),
            rounds: 0,
            still: 0,
        });
        if calm.left.is_empty() {
            let requests = group.clone().filter(|i| !self.entries[*i].gauge);
            let of_all = requests.map(|i| self.entries[i].most_ns / CALM_SHARE);
            let most_ns = of_all.fold(0, u64::saturating_add);
            calm.rounds += 1;
            if calm.still >= CALM_ROUNDS || calm.rounds > MOST_ROUNDS || calm.spent_ns >= most_ns {
                return None;
            }
            calm.left = group.filter(ran).collect();
            if calm.left.is_empty() {
                return None;
            }
            calm.left.reverse();
            calm.left.insert(0, gauge);
        }
        calm.left.pop()
    }

    fn is_due(&self, index: usize, late: bool) -> bool {
        let (progress, entry) = (&self.progress[index], &self.entries[index]);
        let in_time = progress.spent_ns < entry.most_ns && (!late || entry.tell);
        !entry.gauge && progress.runs_left > 0 && !progress.pace.steady && in_time
    }

    /// Index of the entry that ran last.
    pub fn last(&self) -> Option<usize> {
        self.last
    }

    /// Indices of the entries that forks rehearse, with their requests and the nanoseconds of their quickest runs, 0 for those that were to
    /// run in forks only. Those that ran out of time before they ran are left out.
    pub fn rehearsed(&self) -> Vec<(usize, WarmupRequest, u64)> {
        let known = self.progress.iter().enumerate().filter_map(|(index, progress)| {
            let Entry { request, runs, .. } = &self.entries[index];
            let ns = match (runs, progress.quickest_ns) {
                (0, _) => 0,
                (_, u64::MAX) => return None,
                (_, ns) => ns,
            };
            request.rehearsed.then(|| (index, request.clone(), ns))
        });
        known.collect()
    }

    /// Indices of the entries whose last answer told of an error, with their requests.
    pub fn failing(&self) -> Vec<(usize, WarmupRequest)> {
        let progress = self.progress.iter().enumerate();
        let failed = progress.filter(|(_, p)| p.failed).map(|(i, _)| i);
        failed.map(|i| (i, self.entries[i].request.clone())).collect()
    }

    /// The answers that were asked for, by entry; empty where none was.
    pub fn into_answers(self) -> Vec<Vec<u8>> {
        self.progress.into_iter().map(|p| p.answer).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(entries: &[(u8, u32, u32, bool)]) -> Plan {
        let entry = |&(byte, runs, group, tell): &(u8, u32, u32, bool)| Entry {
            request: WarmupRequest {
                rehearsed: byte == b'a',
                ..WarmupRequest::new(vec![byte])
            },
            runs,
            window_ns: 100,
            most_ns: 100,
            group,
            tell,
            gauge: byte == b'g',
        };
        Plan::new(entries.iter().map(entry).collect())
    }

    fn order(mut plan: Plan) -> String {
        std::iter::from_fn(|| plan.next().map(|r| char::from(r.frame[0]))).collect()
    }

    #[test]
    fn groups_follow_each_other_and_their_frames_take_turns() {
        assert_eq!(order(plan(&[])), "");
        assert_eq!(order(plan(&[(b'a', 0, 0, false)])), "");
        assert_eq!(order(plan(&[(b'a', 3, 0, false)])), "aaa");
        let mixed = plan(&[
            (b'd', 1, 0, false),
            (b'a', 2, 1, false),
            (b'b', 4, 1, false),
            (b'c', 1, 1, false),
            (b'e', 2, 2, false),
        ]);
        assert_eq!(order(mixed), "dabcabbbee");
    }

    #[test]
    fn last_answers_of_frames_that_tell_are_kept() {
        let mut plan = plan(&[(b'a', 2, 0, true), (b'b', 1, 0, false)]);
        let mut round = 0;
        while let Some(WarmupRequest { frame, .. }) = plan.next() {
            round += 1;
            plan.hear(&[frame[0], round], 1);
        }
        assert_eq!(plan.into_answers(), [vec![b'a', 3], vec![]]);
    }

    #[test]
    fn entries_whose_last_answer_told_of_an_error_are_known() {
        let mut plan = plan(&[(b'a', 3, 0, false), (b'b', 3, 0, false), (b'c', 0, 0, false)]);
        let fine = crate::verdict::encode_answer("{}");
        let mut answers = [&b""[..], &fine, &fine, &fine, &fine, b""].into_iter();
        while plan.next().is_some() {
            plan.hear(answers.next().unwrap(), 1);
        }
        let failing: Vec<_> = plan.failing().into_iter().map(|(i, r)| (i, r.frame)).collect();
        assert_eq!(failing, [(1, vec![b'b'])]);
    }

    #[test]
    fn what_runs_in_forks_only_is_rehearsed() {
        let mut plan = plan(&[(b'a', 0, 0, false), (b'b', 1, 0, false), (b'a', 1, 1, false)]);
        assert!(plan.next().is_some());
        plan.hear(b"", 1);
        let rehearsed: Vec<_> = plan.rehearsed().iter().map(|(i, _, ns)| (*i, *ns)).collect();
        // The last one has not run yet.
        assert_eq!(rehearsed, [(0, 0)]);
    }

    #[test]
    fn an_entry_ends_with_its_time_and_its_quickest_run_is_known() {
        let mut plan = plan(&[(b'a', 9, 0, false), (b'b', 2, 0, false)]);
        let mut ran = String::new();
        while let Some(WarmupRequest { frame, .. }) = plan.next() {
            ran.push(char::from(frame[0]));
            plan.hear(&[], 40 - ran.len() as u64);
        }
        // 39 + 37 + 35 are over 100.
        assert_eq!(ran, "ababa");
        let told: Vec<_> = plan.rehearsed().iter().map(|(i, _, ns)| (*i, *ns)).collect();
        assert_eq!(told, [(0, 35)]);
        assert_eq!(plan.last(), Some(0));
    }

    #[test]
    fn a_frame_runs_on_while_it_becomes_faster() {
        let run = |times: &dyn Fn(u32) -> u64| {
            let mut plan = Plan::new(vec![Entry {
                request: WarmupRequest::new(vec![b'a']),
                runs: 100_000,
                window_ns: 1000,
                most_ns: 1_000_000,
                group: 0,
                tell: false,
                gauge: false,
            }]);
            let mut runs = 0;
            while plan.next().is_some() {
                plan.hear(&[], times(runs));
                runs += 1;
            }
            runs
        };
        // Two windows of ten, and no more: the second was no faster.
        assert_eq!(run(&|_| 100), 20);
        // Runs that are longer than a window make one of eight.
        assert_eq!(run(&|_| 5000), 16);
        // 10 and 20 runs, the third window of 2000 ns at the same pace.
        assert_eq!(run(&|i| if i < 10 { 100 } else { 50 }), 10 + 20 + 40);
        // One that never ends to become faster ends with its time.
        assert_eq!(run(&|i| 100_000 >> (i / 8)), 12);
        // Becoming slower is no reason to go on.
        assert_eq!(run(&|i| if i < 10 { 100 } else { 200 }), 18);
    }

    #[test]
    fn a_group_with_a_gauge_goes_on_until_that_is_still() {
        let run = |entries: &[(u8, u32, u32, bool)], answer: &dyn Fn(usize) -> u8, ns: u64| {
            let mut plan = plan(entries);
            let mut ran = String::new();
            while let Some(WarmupRequest { frame, .. }) = plan.next() {
                ran.push(char::from(frame[0]));
                plan.hear(&[answer(ran.len())], ns);
            }
            ran
        };
        let entries = [
            (b'a', 2, 0, false),
            (b'b', 1, 0, false),
            (b'g', 0, 0, false),
            (b'c', 1, 1, false),
        ];
        // It is still from the first round on.
        assert_eq!(
            run(&entries, &|_| 7, 1),
            format!("abag{}c", "abg".repeat(CALM_ROUNDS as usize))
        );
        // The third round's is the last answer that is new: the gauge's runs are those behind 4, 7, 10 and 13.
        let late = |at: usize| at.min(13) as u8;
        assert_eq!(
            run(&entries, &late, 1),
            format!("abag{}c", "abg".repeat(3 + CALM_ROUNDS as usize))
        );
        // One that is never still ends with the requests' time: a third of their 200, of which each round takes 12.
        assert_eq!(
            run(&entries, &|at| at as u8, 4),
            format!("abag{}c", "abg".repeat(6))
        );
        // Who never ran is in no round.
        let never = [(b'a', 0, 0, false), (b'g', 0, 0, false)];
        assert_eq!(run(&never, &|_| 7, 1), "g");
    }

    #[test]
    fn who_is_late_runs_what_tells_only() {
        let mut plan = plan(&[(b'a', 9, 0, false), (b'b', 1, 1, true)]);
        assert_eq!(plan.next().map(|r| r.frame), Some(vec![b'a']));
        plan.begun = Instant::now().checked_sub(LONGEST + Duration::from_secs(1));
        assert!(plan.begun.is_some(), "the clock is not that old");
        assert_eq!(order(plan), "b");
    }
}
