//! What a pool counts.

use std::collections::BTreeMap;

use crate::outcome::{Outcome, RequestStats};
use crate::program::traces::Traces;

/// Counts since the pool started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Requests by the name of their outcome.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Requests refused because the queue was full.
    pub refused: u64,
    /// Refused system calls by reason ([`mayfly_linux::kernel::denials::Reason::name`]).
    pub denials: BTreeMap<&'static str, u64>,
    /// Requests whose log was cut.
    pub logs_cut: u64,
    /// Machines forked.
    pub forks: u64,
    /// Machines that a parked request left to another one.
    pub emptied: u64,
    /// Machines dropped because they were lost.
    pub lost: u64,
    /// Workers that crashed, by a bug of ours.
    pub crashes: u64,
    /// Sums over all requests, and over the resets that have ended.
    pub total: RequestStats,
}

impl PoolStats {
    /// Counts a request in.
    pub fn count(&mut self, outcome: &Outcome, traces: &Traces, stats: &RequestStats) {
        *self.outcomes.entry(outcome.name()).or_default() += 1;
        for denial in &traces.denials {
            *self.denials.entry(denial.reason.name()).or_default() += denial.times;
        }
        self.logs_cut += u64::from(traces.log_dropped > 0);
        self.total.add(stats);
    }

    /// Adds another pool's counts.
    pub fn add(&mut self, other: &PoolStats) {
        for (mine, theirs) in [
            (&mut self.outcomes, &other.outcomes),
            (&mut self.denials, &other.denials),
        ] {
            for (name, n) in theirs {
                *mine.entry(name).or_default() += n;
            }
        }
        self.logs_cut += other.logs_cut;
        self.refused += other.refused;
        self.forks += other.forks;
        self.emptied += other.emptied;
        self.lost += other.lost;
        self.crashes += other.crashes;
        self.total.add(&other.total);
    }
}
