//! The order of warm-up requests: group after group, and in a group the frames in turn until each has run as often as wanted.

use mayfly_pool::Outcome;

/// A frame of the warm-up.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The request frame.
    pub frame: Vec<u8>,
    /// How often it runs.
    pub runs: u32,
    /// Neighbours of equal number run in turn.
    pub group: u32,
    /// Its last answer is kept.
    pub tell: bool,
}

/// Gives the frames one by one and keeps the answers that were asked for.
#[derive(Debug)]
pub struct Plan {
    entries: Vec<Entry>,
    /// Runs left, by entry.
    left: Vec<u32>,
    /// The first entry of the group that runs.
    start: usize,
    /// The entry that ran last, if any.
    last: Option<usize>,
    answers: Vec<Vec<u8>>,
}

impl Plan {
    /// A plan over the entries, in their order.
    pub fn new(entries: Vec<Entry>) -> Plan {
        Plan {
            left: entries.iter().map(|e| e.runs).collect(),
            answers: vec![Vec::new(); entries.len()],
            entries,
            start: 0,
            last: None,
        }
    }

    /// Hears how the last frame went.
    pub fn hear(&mut self, outcome: &Outcome) {
        if let (Some(last), Outcome::Answered(answer)) = (self.last, outcome)
            && self.entries[last].tell
        {
            self.answers[last].clone_from(answer);
        }
    }

    /// The next frame to run.
    pub fn next(&mut self) -> Option<Vec<u8>> {
        while let Some(first) = self.entries.get(self.start) {
            let group = first.group;
            let length = self.entries[self.start..]
                .iter()
                .take_while(|e| e.group == group)
                .count();
            let end = self.start + length;
            let after = self.last.map_or(0, |last| (last + 1).saturating_sub(self.start));
            let turn = (0..length).map(|i| self.start + (after + i) % length);
            if let Some(index) = turn.into_iter().find(|i| self.left[*i] > 0) {
                self.left[index] -= 1;
                self.last = Some(index);
                return Some(self.entries[index].frame.clone());
            }
            self.start = end;
        }
        None
    }

    /// The answers that were asked for, by entry; empty where none was.
    pub fn into_answers(self) -> Vec<Vec<u8>> {
        self.answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(entries: &[(u8, u32, u32, bool)]) -> Plan {
        let entry = |&(byte, runs, group, tell): &(u8, u32, u32, bool)| Entry {
            frame: vec![byte],
            runs,
            group,
            tell,
        };
        Plan::new(entries.iter().map(entry).collect())
    }

    fn order(mut plan: Plan) -> String {
        std::iter::from_fn(|| plan.next().map(|f| char::from(f[0]))).collect()
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
        while let Some(frame) = plan.next() {
            round += 1;
            plan.hear(&Outcome::Answered(vec![frame[0], round]));
        }
        assert_eq!(plan.into_answers(), [vec![b'a', 3], vec![]]);
    }
}
