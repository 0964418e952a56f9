//! What the check found, for people and for programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use mayfly_vmm::Flavour;
use serde_json::{Value, json};

use super::Broken;
use super::places::{PLACES, Place};
use super::protocol::Ending;
use super::trial::{Planted, Trial};

/// What became of one place in all trials with a whole reset.
#[derive(Default)]
struct Row {
    /// Endings after which it was planted.
    planted: Vec<Ending>,
    /// Why it was not planted though it should have been.
    trouble: Option<String>,
    left: BTreeSet<String>,
}

/// A reset that was not whole, and what noticed it.
struct Noticed {
    name: String,
    places: Vec<String>,
    /// What noticed it besides the places.
    besides: Vec<&'static str>,
    /// It cannot be seen on this machine.
    hidden: bool,
    /// A place was not planted, so the trial proves less than it should.
    trouble: Option<String>,
}

impl Noticed {
    fn noticed_by(&self) -> impl Iterator<Item = &str> {
        let places = self.places.iter().map(String::as_str);
        places.chain(self.besides.iter().copied())
    }

    fn is_right(&self) -> bool {
        self.trouble.is_none() && (self.hidden || !self.places.is_empty() || !self.besides.is_empty())
    }
}

/// See the module.
pub struct Report {
    flavour: Flavour,
    rows: BTreeMap<Place, Row>,
    /// Differences from the snapshot, and what the next request saw besides.
    besides: BTreeSet<String>,
    /// Instructions that ring 3 may not execute: the signal that ended each, or what went wrong.
    pub forbidden: Vec<(&'static str, Result<i32, String>)>,
    broken: Vec<Noticed>,
}

impl Report {
    /// Nothing was found yet.
    pub fn new(flavour: Flavour) -> Report {
        Report {
            flavour,
            rows: BTreeMap::new(),
            besides: BTreeSet::new(),
            forbidden: Vec::new(),
            broken: Vec::new(),
        }
    }

    /// Adds a trial.
    pub fn add(&mut self, ending: Ending, trial: Trial) {
        for (place, found) in trial.rows {
            let row = self.rows.entry(place).or_default();
            match found.planted {
                Planted::Yes => row.planted.push(ending),
                Planted::NoSuchPlace => {}
                Planted::No(why) => row.trouble = Some(why),
            }
            row.left.extend(found.left);
        }
        self.besides.extend(trial.unequal);
        self.besides.extend(trial.seen);
    }

    /// Adds a trial whose reset was not whole.
    pub fn add_broken(&mut self, broken: Broken, trial: &Trial, may_hide: bool) {
        let left = trial.rows.iter().filter(|(_, row)| !row.left.is_empty());
        let places: Vec<String> = match broken {
            // Its secret is no place's: where it was found says more.
            Broken::Written(_) => left.flat_map(|(_, row)| row.left.iter().cloned()).collect(),
            Broken::LeftOut(_) => left
                .map(|(place, _)| place.description().name.to_owned())
                .collect(),
        };
        let besides = [
            (trial.unequal.is_some(), "the comparison with the snapshot"),
            (!trial.seen.is_empty(), "the next request"),
        ];
        let besides: Vec<_> = besides
            .into_iter()
            .filter_map(|(noticed, what)| noticed.then_some(what))
            .collect();
        self.broken.push(Noticed {
            hidden: may_hide && places.is_empty() && besides.is_empty(),
            name: broken.name(),
            places,
            besides,
            trouble: trial
                .unplanted()
                .map(|(place, why)| format!("{}: {why}", place.description().name)),
        });
    }

    /// Whether nothing was left, every plant was proven, and every broken reset was noticed.
    pub fn is_clean(&self) -> bool {
        self.rows
            .values()
            .all(|row| row.left.is_empty() && row.trouble.is_none())
            && self.besides.is_empty()
            && self.forbidden.iter().all(|(_, end)| end.is_ok())
            && self.broken.iter().all(Noticed::is_right)
    }

    fn verdict(row: &Row) -> &'static str {
        match row {
            Row { left, .. } if !left.is_empty() => "LEAK",
            Row { trouble: Some(_), .. } => "ERROR",
            Row { planted, .. } if planted.is_empty() => "absent",
            Row { .. } => "ok",
        }
    }

    /// Tables.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        self.write_text(&mut out).unwrap_or_default();
        out
    }

    fn write_text(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "{:?}\n", self.flavour)?;
        writeln!(
            out,
            "{:<34} {:<24} {:<7} found after the reset",
            "place", "planted", "verdict"
        )?;
        for place in PLACES {
            let Some(row) = self.rows.get(place) else { continue };
            let planted = match &row.trouble {
                Some(_) => "no".to_owned(),
                None if row.planted.is_empty() => "this CPU has none".to_owned(),
                None => {
                    let endings: Vec<_> = row
                        .planted
                        .iter()
                        .map(|e| format!("{e:?}").to_lowercase())
                        .collect();
                    endings.join(", ")
                }
            };
            let left: Vec<&str> = row.left.iter().map(String::as_str).collect();
            let found = match (&row.trouble, left.is_empty()) {
                (Some(why), true) => why.clone(),
                (None, true) => "nothing".to_owned(),
                (_, false) => left.join("; "),
            };
            writeln!(
                out,
                "{:<34} {planted:<24} {:<7} {found}",
                place.description().name,
                Self::verdict(row)
            )?;
        }
        for (name, end) in &self.forbidden {
            let (verdict, found) = match end {
                Ok(signal) => ("ok", format!("refused by signal {signal}")),
                Err(what) => ("LEAK", what.clone()),
            };
            writeln!(
                out,
                "{:<34} {:<24} {verdict:<7} {found}",
                format!("{name} in ring 3"),
                "tried"
            )?;
        }
        for what in &self.besides {
            writeln!(out, "LEAK: {what}")?;
        }
        if self.besides.is_empty() {
            writeln!(
                out,
                "all memory, translations, registers and tables equal the snapshot's"
            )?;
        }
        if !self.broken.is_empty() {
            writeln!(out, "\n{:<28} noticed by", "reset without, or with")?;
        }
        for broken in &self.broken {
            let by: Vec<&str> = broken.noticed_by().collect();
            let by = match (&broken.trouble, broken.hidden, by.is_empty()) {
                (Some(why), ..) => format!("ERROR: not planted: {why}"),
                (None, true, _) => {
                    "not visible here: this CPU, or its emulator, kept no old translation".to_owned()
                }
                (None, false, true) => "NOTHING: the check cannot fail".to_owned(),
                (None, false, false) => summary(&by),
            };
            writeln!(out, "{:<28} {by}", broken.name)?;
        }
        let verdict = if self.is_clean() { "clean" } else { "NOT CLEAN" };
        writeln!(out, "\n{verdict}")
    }

    /// One JSON object and a line's end.
    pub fn json(&self) -> String {
        let rows = self.rows.iter().map(|(place, row)| {
            json!({
                "place": place.description().name,
                "planted": row.planted.iter().map(|e| format!("{e:?}")).collect::<Value>(),
                "left": row.left,
                "verdict": Self::verdict(row),
            })
        });
        let refused = self.forbidden.iter().map(|(name, end)| match end {
            Ok(signal) => json!({ "instruction": name, "signal": signal }),
            Err(what) => json!({ "instruction": name, "signal": what }),
        });
        let broken = self.broken.iter().map(|b| {
            json!({
                "reset": b.name,
                "noticedBy": b.noticed_by().collect::<Value>(),
                "hidden": b.hidden,
                "right": b.is_right(),
                "unplanted": b.trouble,
            })
        });
        let all = json!({
            "clean": self.is_clean(),
            "places": rows.collect::<Value>(),
            "forbidden": refused.collect::<Value>(),
            "besides": self.besides,
            "broken": broken.collect::<Value>(),
        });
        format!("{all}\n")
    }
}

/// The first few of a list, and how many more there are.
fn summary(all: &[&str]) -> String {
    const SHOWN: usize = 4;
    let shown = all[..all.len().min(SHOWN)].join("; ");
    match all.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}
