//! Where secrets are planted, as both sides know it: the planter in the machine and the searcher outside.

use std::ops::Range;

/// How a plant is proven to be there before the reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Its words lie at the address that the planter tells.
    Memory,
    /// Its words lie in some frame: no address leads there any more.
    Frames,
    /// Its words are in these registers.
    Registers(&'static str),
    /// Its words are in this table of the personality.
    Table(&'static str),
    /// These registers differ from the snapshot's: too narrow for a secret.
    RegistersDiffer(&'static str),
    /// This table of the personality differs from the snapshot's: too narrow for a secret.
    TableDiffers(&'static str),
    /// At the address that the planter tells lie the four selectors that it read back, and they differ from a fresh machine's.
    Told,
    /// Its word is an address, and a page is mapped there.
    Mapped,
}

/// What a secret word must be to fit its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Eight random bytes, none of them 0 or `/`.
    Plain,
    /// A page's address.
    Page,
    /// An address.
    Address,
    /// An address of a 32-bit word.
    Word,
    /// Nanoseconds, whole microseconds, far from now.
    Time,
    /// A set of signals; SIGUSR1 is in it, SIGKILL, SIGSTOP and the two that glibc never blocks are not.
    Signals,
}

impl Shape {
    /// The random word, made to fit.
    pub fn fit(self, word: u64) -> u64 {
        // 16 to 80 TiB: between the program at its low end and the mappings at the high end of user space.
        let address = 0x1000_0000_0000 + (word & 0x3fff_ffff_ffff);
        match self {
            Shape::Plain => word,
            Shape::Page => address & !0xfff,
            Shape::Address => address,
            Shape::Word => address & !3,
            Shape::Time => ((word & 0xff_ffff_ffff_ffff) | 0x80_0000_0000_0000) / 1000 * 1000,
            Shape::Signals => (word | 1 << 9) & !(1 << 8 | 1 << 18 | 3 << 31),
        }
    }
}

/// What the command knows of a place.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// For the table.
    pub name: &'static str,
    /// Secret words in it.
    pub words: usize,
    pub shape: Shape,
    pub proof: Proof,
}

macro_rules! places {
    ($($place:ident $name:literal $words:literal $shape:ident $proof:expr,)*) => {
        /// A place.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Place { $($place,)* }

        /// All places.
        pub const PLACES: &[Place] = &[$(Place::$place,)*];

        const DESCRIPTIONS: &[Description] = &[
            $(Description { name: $name, words: $words, shape: Shape::$shape, proof: $proof },)*
        ];
    };
}

use Proof::{Frames, Mapped, Memory, Registers, RegistersDiffer, Table, TableDiffers, Told};

places! {
    // Memory.
    Heap "heap" 2 Plain Memory,
    FreedHeap "heap, freed" 2 Plain Memory,
    Stack "stack" 2 Plain Memory,
    Zeroed "static data, zero at first (bss)" 2 Plain Memory,
    Static "static data" 2 Plain Memory,
    Local "data of a thread (TLS)" 2 Plain Memory,
    Environment "environment block" 2 Plain Memory,
    FilePage "private mapping of a file" 2 Plain Memory,
    NewPage "page added by mmap" 2 Plain Memory,
    BreakPage "page added by brk" 2 Plain Memory,
    HiddenPage "page made unreadable" 2 Plain Frames,
    FreedPage "page given back" 2 Plain Frames,
    // The machine.
    PageTables "page tables" 1 Page Mapped,
    Translation "translation of a page" 2 Plain Memory,
    General "integer registers" 16 Plain Registers("integer registers"),
    Flags "flags" 0 Plain RegistersDiffer("flags"),
    Mmx "x87 and MMX registers" 8 Plain Registers("vector registers"),
    Xmm "XMM registers" 32 Plain Registers("vector registers"),
    Ymm "YMM registers, upper halves" 32 Plain Registers("vector registers"),
    Zmm "ZMM registers, upper halves" 64 Plain Registers("vector registers"),
    HighZmm "ZMM16 to ZMM31" 128 Plain Registers("vector registers"),
    Masks "mask registers" 8 Plain Registers("vector registers"),
    Control "MXCSR and x87 control word" 0 Plain RegistersDiffer("vector control"),
    Bases "FS and GS base" 2 Address Registers("segment bases"),
    Selectors "segment selectors" 0 Plain Told,
    // The personality.
    Mapping "address of a mapping" 1 Page Table("address space"),
    Break "end of the heap (brk)" 0 Plain TableDiffers("address space"),
    FileContent "file in /tmp" 2 Plain Table("file tree"),
    UnnamedFile "file without a name (memfd)" 2 Plain Table("file tree"),
    Folder "working directory and its name" 2 Plain Table("file tree"),
    Link "symbolic link" 2 Plain Table("file tree"),
    FileBytes "count of bytes in files" 0 Plain TableDiffers("bytes of files"),
    Numbers "descriptor numbers and flags" 0 Plain TableDiffers("descriptors"),
    Offset "offset of an open file" 1 Time Table("open files"),
    Pipe "bytes in a pipe" 2 Plain Table("open files"),
    SocketPair "bytes in a socket pair" 2 Plain Table("open files"),
    HeldBytes "count of bytes in pipes" 0 Plain TableDiffers("bytes held"),
    EventCount "eventfd counters" 2 Plain Table("open files"),
    TimerFile "timerfd" 1 Time Table("open files"),
    EpollData "epoll data" 2 Plain Table("open files"),
    Input "input left unread" 2 Plain Table("standard streams"),
    Output "half a frame on fd 1" 2 Plain Table("standard streams"),
    Log "log on fd 2" 2 Plain Table("standard streams"),
    Handler "signal handler and restorer" 2 Plain Table("process"),
    Pending "pending signal's value" 2 Plain Table("process"),
    SignalMask "signal mask" 1 Signals Table("threads"),
    AltStack "alternate signal stack" 1 Address Table("threads"),
    Alarm "interval timer" 1 Time Table("process"),
    Clock "clock, moved on by waiting" 0 Plain TableDiffers("clock"),
    ResourceLimits "resource limits" 2 Plain Table("process"),
    Process "umask, dumpable, next thread id" 0 Plain TableDiffers("process"),
    ThreadName "thread's name (PR_SET_NAME)" 1 Plain Table("threads"),
    ThreadRegisters "registers of a waiting thread" 6 Plain Table("threads"),
    ThreadVectors "vectors of a waiting thread" 32 Plain Table("threads"),
    Futex "futex that a thread waits for" 1 Word Table("threads"),
    RobustList "robust futex list" 1 Address Table("threads"),
    ClearTid "clear_child_tid" 1 Address Table("threads"),
    Running "which thread runs" 0 Plain TableDiffers("running thread"),
    Randomness "state of the random generator" 0 Plain TableDiffers("randomness"),
    Request "state of the request" 0 Plain TableDiffers("request"),
    LastFault "last page fault" 1 Address Table("last fault"),
}

impl Place {
    /// What it is.
    pub fn description(self) -> &'static Description {
        &DESCRIPTIONS[self as usize]
    }

    /// Its words among all secret words.
    pub const fn range(self) -> Range<usize> {
        let (mut at, mut start) = (0, 0);
        while at < self as usize {
            start += DESCRIPTIONS[at].words;
            at += 1;
        }
        start..start + DESCRIPTIONS[at].words
    }
}

/// All secret words.
pub const WORDS: usize = {
    let mut at = 0;
    let mut sum = 0;
    while at < DESCRIPTIONS.len() {
        sum += DESCRIPTIONS[at].words;
        at += 1;
    }
    sum
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_the_places_lie_behind_each_other() {
        let mut next = 0;
        for place in PLACES {
            assert_eq!(place.range().start, next, "{place:?}");
            next = place.range().end;
        }
        assert_eq!(next, WORDS);
    }

    #[test]
    fn shaped_words_fit_and_keep_their_chance() {
        for word in [0, u64::MAX, 0x1234_5678_9abc_def0] {
            assert!(Shape::Address.fit(word) < 0x7fff_0000_0000);
            assert_eq!(Shape::Page.fit(word) % 4096, 0);
            assert_eq!(Shape::Word.fit(word) % 4, 0);
            assert_eq!(Shape::Time.fit(word) % 1000, 0);
            assert!(Shape::Time.fit(word) > 1 << 54, "a year and more");
            assert_eq!(Shape::Signals.fit(word) & (1 << 8 | 1 << 18), 0);
        }
        assert_ne!(Shape::Address.fit(1), Shape::Address.fit(1 << 45));
    }
}
