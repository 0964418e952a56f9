//! What is found in a machine from outside: in every frame, every register, every table of the personality.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use mayfly_pool::{Instance, Tables};

use super::places::{Place, Proof};
use super::secrets::{Needles, Print};

/// Where something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Store {
    /// A frame of guest memory.
    Memory,
    /// Registers of this kind.
    Registers(&'static str),
    /// A table of the personality.
    Table(&'static str),
}

impl Store {
    /// For the report.
    pub fn name(self) -> &'static str {
        match self {
            Store::Memory => "memory",
            Store::Registers(name) | Store::Table(name) => name,
        }
    }
}

/// Register kinds that are compared with the snapshot's by value.
const NARROW: [&str; 3] = ["flags", "vector control", "segment selectors"];

/// How everything is in a machine that is fresh from the snapshot.
pub struct Baseline {
    registers: Vec<(&'static str, Vec<u8>)>,
    tables: Vec<(&'static str, u64)>,
}

impl Baseline {
    /// Of a fork that has just been made or checked.
    pub fn of(instance: &mut Instance, needles: &Needles) -> mayfly_vmm::Result<Baseline> {
        instance.machine().take_registers()?;
        let registers = instance.machine().register_parts()?;
        let tables = print_all(instance.snapshot_tables(), needles, &mut |_, _, _| {});
        Ok(Baseline { registers, tables })
    }
}

/// What was found.
pub struct Evidence {
    /// Words of each place, and where.
    words: BTreeMap<(Place, usize), BTreeSet<Store>>,
    /// Registers and tables that differ from the baseline's.
    differ: BTreeSet<Store>,
    /// Whether a page is mapped at the address that [`Place::PageTables`] has.
    mapped: bool,
}

impl Evidence {
    /// Searches everything.
    pub fn collect(
        instance: &mut Instance,
        needles: &Needles,
        mapping: u64,
        baseline: &Baseline,
    ) -> mayfly_vmm::Result<Evidence> {
        let mut words: BTreeMap<(Place, usize), BTreeSet<Store>> = BTreeMap::new();
        let mut differ = BTreeSet::new();
        let mut found = |store, place, index| {
            words.entry((place, index)).or_default().insert(store);
        };
        instance.machine().visit_frames(&mut |_, page| {
            needles.search(page, &mut |place, index| found(Store::Memory, place, index));
        })?;
        let registers = instance.machine().register_parts()?;
        for (part, before) in registers.iter().zip(&baseline.registers) {
            let store = Store::Registers(part.0);
            needles.search(&part.1, &mut |place, index| found(store, place, index));
            if NARROW.contains(&part.0) && part != before {
                differ.insert(store);
            }
        }
        let tables = print_all(instance.tables(), needles, &mut |name, place, index| {
            found(Store::Table(name), place, index);
        });
        for (table, before) in tables.iter().zip(&baseline.tables) {
            if table != before {
                differ.insert(Store::Table(table.0));
            }
        }
        let page = instance.machine().space_ref().page(mapping);
        Ok(Evidence {
            words,
            differ,
            mapped: page != mayfly_vmm::Access::Absent,
        })
    }

    /// Whether the words of a place at these indices are all in this store.
    pub fn has_all(&self, place: Place, store: Store, mut indices: impl Iterator<Item = usize>) -> bool {
        indices.all(|index| {
            self.words
                .get(&(place, index))
                .is_some_and(|stores| stores.contains(&store))
        })
    }

    /// Whether a place without words shows that something was planted in it.
    pub fn shows(&self, proof: Proof) -> bool {
        match proof {
            Proof::RegistersDiffer(name) => self.differ.contains(&Store::Registers(name)),
            Proof::TableDiffers(name) => self.differ.contains(&Store::Table(name)),
            Proof::Mapped => self.mapped,
            Proof::Memory | Proof::Frames | Proof::Registers(_) | Proof::Table(_) | Proof::Told => false,
        }
    }

    /// Every store in which a word of the place was found, or in which it shows otherwise.
    pub fn left(&self, place: Place) -> BTreeSet<&'static str> {
        let words = self.words.range((place, 0)..=(place, usize::MAX));
        let mut left: BTreeSet<&'static str> =
            words.flat_map(|(_, stores)| stores).map(|s| s.name()).collect();
        // KVM's own view of them counts wherever it has one.
        let selectors = Store::Registers("segment selectors");
        if place == Place::Selectors && self.differ.contains(&selectors) {
            left.insert(selectors.name());
        }
        let proof = place.description().proof;
        match proof {
            Proof::RegistersDiffer(name) | Proof::TableDiffers(name) if self.shows(proof) => {
                left.insert(name);
            }
            Proof::Mapped if self.mapped => {
                left.insert("page tables");
            }
            _ => {}
        }
        left
    }
}

/// Prints tables and searches the print: the name and digest of each.
fn print_all(
    tables: Tables<'_>,
    needles: &Needles,
    found: &mut impl FnMut(&'static str, Place, usize),
) -> Vec<(&'static str, u64)> {
    let print_one = |(name, table): (&'static str, Box<dyn std::fmt::Debug + '_>)| {
        let mut print = Print::new(needles, |place, index| found(name, place, index));
        // `Print` takes everything.
        write!(print, "{table:?}").unwrap_or_default();
        (name, print.finish())
    };
    tables.into_iter().map(print_one).collect()
}
