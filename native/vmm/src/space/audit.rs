//! A walk of all tables that checks their invariants.

use super::Space;
use super::frame_set::FrameSet;
use crate::layout::{FILES, LOW_END, PML4, SYSCALL_STUB, USER_END, USER_START, VECTOR_DATA, VECTOR_STUB};
use crate::pte::Pte;

/// Entries that a change pays for: in debug builds the tables are walked before the guest runs on changed ones, small spaces each
/// time, and large ones once their changes are worth the walk.
const ENTRIES_PER_CHANGE: u64 = 64;

/// What a walk has seen.
#[derive(Default)]
struct Seen {
    tables: FrameSet,
    frames: FrameSet,
    entries: u64,
}

impl Space {
    /// Walks all tables and checks what must hold of them whatever the program did:
    ///
    /// - a link leads to a table of this space, with the bits that links have, and no other link does;
    /// - nothing is mapped at or above the end of user space;
    /// - a leaf leads to a frame that was handed out, and no other leaf does, or to an attached file, never to a table or the low
    ///   64 KiB;
    /// - a page of a file is not writable; Accessed and Dirty are preset;
    /// - below user space a page is the supervisor's, but for those of the system-call stub and the vector stub, and none is
    ///   writable and executable.
    pub fn audit(&self) -> std::result::Result<(), String> {
        self.walk().map(drop)
    }

    fn walk(&self) -> std::result::Result<u64, String> {
        let mut seen = Seen::default();
        self.audit_table(PML4, 4, 0, &mut seen)?;
        Ok(seen.entries)
    }

    /// In debug builds, before the guest runs: walks the tables if they changed.
    ///
    /// # Panics
    /// If an invariant is broken: that is a bug of ours, and the guest may not run on.
    pub(crate) fn audit_changes(&mut self) {
        if self.unaudited == 0 || self.unaudited * ENTRIES_PER_CHANGE < self.audited {
            return;
        }
        match self.walk() {
            Ok(entries) => (self.unaudited, self.audited) = (0, entries),
            Err(what) => panic!("page tables: {what}"),
        }
    }

    fn audit_table(
        &self,
        table: u64,
        level: u32,
        base: u64,
        seen: &mut Seen,
    ) -> std::result::Result<(), String> {
        if !self.is_table(table) {
            return Err(format!(
                "the walk of {base:#x} reaches {table:#x}, which is no table"
            ));
        }
        if !seen.tables.insert(table) {
            return Err(format!("{base:#x}: table {table:#x} is linked twice"));
        }
        for index in 0..512 {
            let entry = Pte(self.memory.word(table, index));
            let address = base + ((index as u64) << (12 + 9 * (level - 1)));
            if entry.is_empty() {
                if entry != Pte::EMPTY {
                    return Err(format!("{address:#x}: absent entry with bits {:#x}", entry.0));
                }
                continue;
            }
            seen.entries += 1;
            if address >= USER_END {
                return Err(format!("{address:#x}: mapped at or above the end of user space"));
            }
            if level > 1 {
                if entry != Pte::table(entry.frame()) {
                    return Err(format!("{address:#x}: a link with bits {:#x}", entry.0));
                }
                self.audit_table(entry.frame(), level - 1, address, seen)?;
            } else if address >= USER_START {
                self.audit_leaf(address, entry, seen)?;
            } else {
                audit_low_leaf(address, entry)?;
            }
        }
        Ok(())
    }

    fn audit_leaf(&self, address: u64, entry: Pte, seen: &mut Seen) -> std::result::Result<(), String> {
        let frame = entry.frame();
        let private = (LOW_END..self.state.frames.next()).contains(&frame) && !self.is_table(frame);
        let file = frame >= FILES && self.memory.frame(frame).is_some();
        if !private && !file {
            return Err(format!(
                "{address:#x}: leads to {frame:#x}, which belongs to no program"
            ));
        }
        if private && !seen.frames.insert(frame) {
            return Err(format!("{address:#x}: leads to {frame:#x}, as another page does"));
        }
        if file && entry.is_writable() {
            return Err(format!("{address:#x}: writable page of a file"));
        }
        if !entry.is_present() {
            return Ok(());
        }
        if !entry.is_user() {
            return Err(format!("{address:#x}: a page that its program cannot reach"));
        }
        if entry.0 & 0x20 == 0 || entry.is_writable() && entry.0 & 0x40 == 0 {
            return Err(format!(
                "{address:#x}: Accessed or Dirty not preset: {:#x}",
                entry.0
            ));
        }
        Ok(())
    }

    /// Pages of user space that are writable and executable at once: only those for which the program asked.
    pub fn writable_code(&self) -> Vec<u64> {
        let mut found = Vec::new();
        let mut at = USER_START;
        while let Some((address, _, entry)) = self.next_mapped(at, USER_END) {
            if entry.is_present() && entry.is_writable() && entry.is_executable() {
                found.push(address);
            }
            at = address + crate::layout::PAGE;
        }
        found
    }
}

fn audit_low_leaf(address: u64, entry: Pte) -> std::result::Result<(), String> {
    if entry.frame() != address {
        return Err(format!(
            "{address:#x}: leads to {:#x}, want itself",
            entry.frame()
        ));
    }
    if entry.is_writable() && entry.is_executable() {
        return Err(format!(
            "{address:#x}: a stub's page that is writable and executable"
        ));
    }
    let of_ring_3 = [SYSCALL_STUB, VECTOR_STUB, VECTOR_DATA].contains(&address);
    if entry.is_user() && (!of_ring_3 || entry.is_writable()) {
        return Err(format!("{address:#x}: ring 3 can reach it: {:#x}", entry.0));
    }
    Ok(())
}
