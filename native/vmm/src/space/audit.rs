//! A walk of all tables that checks their invariants.

use super::Space;
use crate::layout::{FILES, LOW_END, PML4, USER_END, USER_START};
use crate::pte::Pte;

impl Space {
    /// Walks all tables and checks the invariants of user space: leaves lead to frames handed out or to attached files, never
    /// to a table or the low 64 KiB; file pages are not writable; Accessed and Dirty are preset.
    pub fn audit(&self) -> std::result::Result<(), String> {
        self.audit_table(PML4, 4, 0)
    }

    fn audit_table(&self, table: u64, level: u32, base: u64) -> std::result::Result<(), String> {
        if !self.is_table(table) {
            return Err(format!(
                "the walk of {base:#x} reaches {table:#x}, which is no table"
            ));
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
            if address >= USER_END {
                return Err(format!("{address:#x}: mapped at or above the end of user space"));
            }
            if level > 1 {
                self.audit_table(entry.frame(), level - 1, address)?;
            } else if address >= USER_START {
                let frame = entry.frame();
                let private = (LOW_END..self.state.frames.next()).contains(&frame) && !self.is_table(frame);
                let file = frame >= FILES && self.memory.frame(frame).is_some();
                if !private && !file {
                    return Err(format!(
                        "{address:#x}: leads to {frame:#x}, which belongs to no program"
                    ));
                }
                if file && entry.is_writable() {
                    return Err(format!("{address:#x}: writable page of a file"));
                }
                if entry.is_present() && (entry.0 & 0x20 == 0 || entry.is_writable() && entry.0 & 0x40 == 0) {
                    return Err(format!(
                        "{address:#x}: Accessed or Dirty not preset: {:#x}",
                        entry.0
                    ));
                }
            }
        }
        Ok(())
    }
}
