//! Page-table entries.

/// What a program may do with a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Protection {
    /// Loads. On x86 every accessible page can be read.
    pub read: bool,
    /// Stores.
    pub write: bool,
    /// Instruction fetches.
    pub execute: bool,
}

impl Protection {
    /// No access; the content is kept.
    pub const NONE: Protection = Protection {
        read: false,
        write: false,
        execute: false,
    };
    /// Loads only.
    pub const READ: Protection = Protection {
        read: true,
        write: false,
        execute: false,
    };
    /// Loads and stores.
    pub const READ_WRITE: Protection = Protection {
        read: true,
        write: true,
        execute: false,
    };
    /// Loads and instruction fetches.
    pub const READ_EXECUTE: Protection = Protection {
        read: true,
        write: false,
        execute: true,
    };

    /// Whether any access is allowed.
    pub fn any(self) -> bool {
        self.read || self.write || self.execute
    }
}

const PRESENT: u64 = 1;
const WRITE: u64 = 1 << 1;
const USER: u64 = 1 << 2;
const ACCESSED: u64 = 1 << 5;
const DIRTY: u64 = 1 << 6;
/// Software bit: the page has a frame but no access.
const PARKED: u64 = 1 << 9;
const NO_EXECUTE: u64 = 1 << 63;
const FRAME: u64 = 0x000f_ffff_ffff_f000;

/// One entry. Accessed and Dirty are always preset, or the CPU would write them and every table walked would become a dirty
/// page. A parked entry (no access, content kept) holds its frame inverted, so that no speculative walk finds an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Pte(pub u64);

impl Pte {
    pub const EMPTY: Pte = Pte(0);

    /// A link to a lower table, with all rights: the leaf decides.
    pub fn table(frame: u64) -> Pte {
        Pte((frame & FRAME) | PRESENT | WRITE | USER | ACCESSED | DIRTY)
    }

    /// A leaf of user space.
    pub fn page(frame: u64, protection: Protection) -> Pte {
        if !protection.any() {
            return Pte((!frame & FRAME) | PARKED);
        }
        let mut bits = (frame & FRAME) | PRESENT | USER | ACCESSED;
        if protection.write {
            bits |= WRITE | DIRTY;
        }
        if !protection.execute {
            bits |= NO_EXECUTE;
        }
        Pte(bits)
    }

    /// A leaf of the low 64 KiB.
    pub fn system(frame: u64, user: bool, write: bool, execute: bool) -> Pte {
        let mut bits = (frame & FRAME) | PRESENT | ACCESSED;
        if user {
            bits |= USER;
        }
        if write {
            bits |= WRITE | DIRTY;
        }
        if !execute {
            bits |= NO_EXECUTE;
        }
        Pte(bits)
    }

    pub fn is_present(self) -> bool {
        self.0 & PRESENT != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 & (PRESENT | PARKED) == 0
    }

    pub fn is_user(self) -> bool {
        self.0 & USER != 0
    }

    pub fn is_writable(self) -> bool {
        self.0 & WRITE != 0
    }

    pub fn is_executable(self) -> bool {
        self.0 & NO_EXECUTE == 0
    }

    /// The frame of a present or parked entry.
    pub fn frame(self) -> u64 {
        if self.is_present() {
            self.0 & FRAME
        } else {
            !self.0 & FRAME
        }
    }

    /// The same entry, present or parked, with another frame.
    pub fn with_frame(self, frame: u64) -> Pte {
        let bits = if self.is_present() { frame } else { !frame };
        Pte(self.0 & !FRAME | bits & FRAME)
    }

    /// Whether a translation cached from `self` is wrong once the entry reads `new`: it was present, and now leads elsewhere
    /// or allows less.
    pub fn goes_stale(self, new: Pte) -> bool {
        self.is_present()
            && (!new.is_present()
                || self.frame() != new.frame()
                || self.is_writable() && !new.is_writable()
                || self.is_executable() && !new.is_executable()
                || self.is_user() && !new.is_user())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_keeps_frame_and_rights() {
        let p = Pte::page(0x1234_5000, Protection::READ_WRITE);
        assert!(p.is_present() && p.is_writable() && p.is_user() && !p.is_executable());
        assert_eq!(p.frame(), 0x1234_5000);
        let x = Pte::page(0x1234_5000, Protection::READ_EXECUTE);
        assert!(x.is_executable() && !x.is_writable());
    }

    #[test]
    fn parked_entry_keeps_its_frame_and_hides_it() {
        let p = Pte::page(0x1234_5000, Protection::NONE);
        assert!(!p.is_present() && !p.is_empty());
        assert_eq!(p.frame(), 0x1234_5000);
        assert_ne!(p.0 & FRAME, 0x1234_5000);
    }

    #[test]
    fn with_frame_changes_the_frame_alone() {
        for protection in [
            Protection::NONE,
            Protection::READ,
            Protection::READ_WRITE,
            Protection::READ_EXECUTE,
        ] {
            assert_eq!(
                Pte::page(0x5000, protection).with_frame(0x7000),
                Pte::page(0x7000, protection)
            );
        }
    }

    #[test]
    fn goes_stale_only_when_something_is_taken_away() {
        let rw = Pte::page(0x5000, Protection::READ_WRITE);
        let r = Pte::page(0x5000, Protection::READ);
        let x = Pte::page(0x5000, Protection::READ_EXECUTE);
        assert!(rw.goes_stale(r) && rw.goes_stale(Pte::EMPTY) && x.goes_stale(r));
        assert!(rw.goes_stale(Pte::page(0x6000, Protection::READ_WRITE)));
        assert!(!r.goes_stale(rw) && !r.goes_stale(x) && !r.goes_stale(r));
        assert!(!Pte::EMPTY.goes_stale(rw) && !Pte::page(0x5000, Protection::NONE).goes_stale(rw));
    }
}
