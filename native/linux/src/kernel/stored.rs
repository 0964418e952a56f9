//! A kernel in a snapshot's file: its tables as bytes, and the way back, on which nothing is believed.
//!
//! What follows from other tables is not in the file: gaps between mappings, counts of what the host holds. Clocks and randomness are not
//! there either: whoever reads gives fresh ones. Bytes of files that the host lends stay the host's; each has a number here.

use std::sync::Arc;

use mayfly_abi::limits::{DESCRIPTORS_MAX, MAPPINGS_MAX, THREADS_MAX};
use serde::{Deserialize, Serialize};

use super::{Config, Kernel, Snapshot};
use crate::clock::{Clock, ClockBase};
use crate::fs::blocks::Blocks;
use crate::fs::files::Files;
use crate::fs::granted::HostFolder;
use crate::fs::host_file::HostFile;
use crate::fs::stdio::{OutputMode, StdioLimits};
use crate::fs::vfs::{PATH_MAX, Vfs};
use crate::limits::Limits;
use crate::machine::{PAGE, Protection, USER_END, USER_START};
use crate::mem::space::{AddressSpace, SpaceLimits};
use crate::mem::vma::{Mapping, Source};
use crate::state::ensure::ensure;
use crate::state::random::Random;
use crate::state::tracked::{Slab, Tracked};
use crate::task::process::Process;
use crate::task::signal::{Pending, SIGNALS, bit};
use crate::task::threads::Thread;
use crate::task::timers;

/// Places from this one on are those of files whose bytes come with the state.
const INSIDE: u32 = 1 << 31;

/// What a kernel that was stored is given anew.
#[derive(Clone, Copy, Debug)]
pub struct Fresh {
    /// Where the clocks stand now.
    pub clock: ClockBase,
    /// Fresh bytes from the host's generator.
    pub seed: [u8; 32],
}

/// What is in the file. Its order is the format's.
#[derive(Serialize, Deserialize)]
struct State {
    limits: Limits,
    output: OutputMode,
    space: Tracked<AddressSpace>,
    threads: Slab<Thread>,
    current: usize,
    loaded: i32,
    files: Files,
    vfs: Vfs,
    process: Tracked<Process>,
    jump_when_idle: bool,
    paused: u64,
    idle: u64,
    last_fault: (u64, u64, u32),
    /// Files that the host has not lent.
    inside: Vec<Inside>,
}

/// A file whose bytes come with the state.
#[derive(Serialize, Deserialize)]
enum Inside {
    /// The guest's own, as a mapping shows it.
    OfGuest(Arc<Blocks>),
    /// The kernel's: the vDSO.
    OfKernel(Vec<u8>),
}

impl Snapshot {
    /// The state as bytes, with their numbers in place of the files that the host has lent.
    ///
    /// # Errors
    /// What of the state no file can hold.
    pub fn store(&self, lent: &[HostFile]) -> Result<Vec<u8>, String> {
        let Kernel {
            limits,
            space,
            threads,
            current,
            loaded,
            files,
            vfs,
            process,
            clock,
            random: _,
            jump_when_idle,
            in_flight,
            said: _,
            paused,
            calls_left: _,
            room: _,
            waiting: _,
            last_fault,
            denials: _,
            permits: _,
            most_held: _,
            statistics: _,
        } = self.0.clone();
        ensure(!in_flight, || "a request is under way".into())?;
        ensure(files.count_host_ends() == 0, || {
            "a connection of the host's is open".into()
        })?;
        ensure(files.count_granted() == 0, || {
            "a file is open in a folder that may be written".into()
        })?;
        let busy = threads.iter().find(|(_, thread)| thread.is_within_call());
        if let Some((_, thread)) = busy {
            return Err(format!("thread {} has done a part of a system call", thread.tid));
        }
        let mut inside = Vec::<HostFile>::new();
        let mut place = |file: &HostFile| {
            let same =
                |other: &HostFile| (other.address(), other.length()) == (file.address(), file.length());
            if let Some(at) = lent.iter().position(same) {
                return Ok(file.placed(at as u32));
            }
            ensure(file.slot.is_none(), || format!("{file:?} is of no mount"))?;
            let at = inside.iter().position(same).unwrap_or_else(|| {
                inside.push(file.clone());
                inside.len() - 1
            });
            Ok(file.placed(INSIDE + at as u32))
        };
        let (mut space, mut vfs) = (space, vfs);
        vfs.replace_files(&mut place)?;
        space.tree.replace_files(&mut place)?;
        let state = State {
            limits,
            output: files.stdio.mode(),
            space,
            threads,
            current,
            loaded,
            files,
            vfs,
            process,
            jump_when_idle,
            paused,
            idle: clock.idle(),
            last_fault,
            inside: inside
                .iter()
                .map(|file| match file.blocks() {
                    Some(blocks) => Inside::OfGuest(Arc::clone(blocks)),
                    None => Inside::OfKernel(file.part(0..u64::MAX).into_owned()),
                })
                .collect(),
        };
        postcard::to_allocvec(&state).map_err(|e| e.to_string())
    }

    /// The state that these bytes tell, checked as what a guest wrote would be, with the host's files by number.
    ///
    /// # Errors
    /// The first thing that is not as it must be.
    pub fn load(bytes: &[u8], lent: &[HostFile], fresh: Fresh) -> Result<Self, String> {
        let (state, rest) = postcard::take_from_bytes::<State>(bytes).map_err(|e| e.to_string())?;
        ensure(rest.is_empty(), || format!("{} bytes too many", rest.len()))?;
        check_limits(&state.limits)?;
        let mut kernel = Kernel::new(&Config {
            limits: state.limits,
            output: state.output,
            clock: fresh.clock,
            seed: fresh.seed,
            jump_when_idle: state.jump_when_idle,
        });
        kernel.take_state(state, lent, fresh)?;
        kernel.audit()?;
        kernel.audit_stored()?;
        Ok(kernel.snapshot())
    }

    /// Gives the granted folders of a state that was read what the host offers for them, by their paths.
    ///
    /// # Errors
    /// The path of a folder for which there is nothing.
    pub fn grant(&mut self, offered: &dyn Fn(&str) -> Option<Arc<dyn HostFolder>>) -> Result<(), String> {
        self.0.vfs.grant(offered)
    }

    /// Checks the pages that a machine has for this state (address, what ring 3 may do, whether it is a file's), lowest first: each is of a
    /// mapping, and allows no more than that.
    ///
    /// # Errors
    /// The first page that no mapping, or another one, allows.
    pub fn allows(&self, pages: impl Iterator<Item = (u64, Protection, bool)>) -> Result<(), String> {
        let tree = &self.0.space.tree;
        let mut known = None;
        for (page, has, of_file) in pages {
            // Neighbours are mostly of one mapping.
            known = known.filter(|(start, mapping): &(u64, &Mapping)| (*start..mapping.end).contains(&page));
            known = known.or_else(|| tree.find(page));
            let Some((_, mapping)) = known else {
                return Err(format!("page {page:#x} is there and not mapped"));
            };
            let may = mapping.protection;
            let slot = matches!(&mapping.source, Source::File { file, .. } if file.slot.is_some());
            let within =
                (!has.write || may.write) && (!has.execute || may.execute) && (!has.any() || may.any());
            ensure(within && (slot || !of_file), || {
                format!("page {page:#x} allows {has:?}, its mapping {may:?}")
            })?;
        }
        Ok(())
    }

    /// The vector registers of all threads but the one that the machine holds.
    pub fn vectors(&self) -> impl Iterator<Item = &[u8]> {
        let threads = self.0.threads.iter();
        threads.filter_map(|(_, thread)| thread.vector.as_deref().map(Vec::as_slice))
    }

    /// Bounds on the guest.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.0.limits
    }

    /// What the guest listens on, by age.
    #[must_use]
    pub fn listening(&self) -> Vec<crate::net::address::Address> {
        self.0.files.listening()
    }
}

/// Bounds that no description of a program goes over.
fn check_limits(limits: &Limits) -> Result<(), String> {
    let most = Limits::default();
    let within = limits.descriptors <= DESCRIPTORS_MAX as usize
        && limits.threads <= THREADS_MAX as usize
        && limits.mappings <= MAPPINGS_MAX as usize
        && limits.reserved_bytes <= most.reserved_bytes
        && limits.file_bytes <= most.file_bytes
        && limits.file_nodes <= most.file_nodes
        && limits.held_bytes <= most.held_bytes
        && limits.sockets <= DESCRIPTORS_MAX as usize
        && limits.output_bytes <= u32::MAX as usize + (1 << 20)
        && limits.log_bytes <= u32::MAX as usize
        && (1..=most.fault_around).contains(&limits.fault_around);
    ensure(within, || {
        format!("limits over those that a program may have: {limits:?}")
    })
}

impl Kernel {
    /// Takes over tables that were read, and counts again what follows from them.
    fn take_state(&mut self, state: State, lent: &[HostFile], fresh: Fresh) -> Result<(), String> {
        let State {
            limits,
            output,
            mut space,
            threads,
            current,
            loaded,
            mut files,
            mut vfs,
            process,
            jump_when_idle: _,
            paused,
            idle,
            last_fault,
            inside,
        } = state;
        let inside = inside.into_iter().map(|file| match file {
            Inside::OfGuest(blocks) if blocks.is_sound() => Ok(HostFile::of_guest(blocks)),
            Inside::OfGuest(_) => Err("the bytes of a mapped file are not as long as it is".to_owned()),
            Inside::OfKernel(bytes) => Ok(HostFile::new(bytes)),
        });
        let inside = inside.collect::<Result<Vec<HostFile>, String>>()?;
        let mut find = |file: &HostFile| {
            let place = file.place().unwrap_or(u32::MAX);
            let found = match place.checked_sub(INSIDE) {
                Some(place) => inside.get(place as usize),
                None => lent.get(place as usize),
            };
            let found = found.ok_or_else(|| format!("file {place} is none"))?;
            ensure(file.slot == found.slot, || {
                format!("file {place} is of another kind")
            })?;
            Ok(file.with_bytes_of(found))
        };
        vfs.replace_files(&mut find)?;
        space.tree.replace_files(&mut find)?;
        space.set_limits(SpaceLimits::of(&limits));
        files.set_limits(limits.descriptors, limits.held_bytes);
        files.set_socket_limit(limits.sockets);
        files.stdio.set_limits(output, StdioLimits::of(&limits));
        vfs.set_limits(limits.file_bytes, limits.file_nodes);
        files.recount();
        vfs.recount_all();
        (self.space, self.threads, self.files, self.vfs) = (space, threads, files, vfs);
        (self.process, self.current, self.loaded) = (process, current, loaded);
        (self.paused, self.last_fault) = (paused, last_fault);
        self.clock = Clock::resting(fresh.clock, paused, idle);
        self.random = Random::from_seed(fresh.seed);
        self.waiting = self.waits();
        Ok(())
    }

    /// What [`Kernel::audit`] takes for granted, as the calls of a guest cannot make it otherwise.
    fn audit_stored(&self) -> Result<(), String> {
        self.files.audit_stored()?;
        self.vfs.audit_stored()?;
        self.files.audit_nodes(|node| self.vfs.is_directory(node))?;
        let process = &self.process;
        let is_folder = self.vfs.is_directory(process.folder)
            || self.vfs.is_granted(process.folder) && process.below.len() < PATH_MAX;
        ensure(is_folder, || "the working directory is none".into())?;
        ensure(process.dispositions.len() == SIGNALS as usize, || {
            format!("{} dispositions of signals", process.dispositions.len())
        })?;
        process.pending.audit()?;
        timers::audit(&process.timers)?;
        ensure(process.next_timer >= 0, || {
            format!("the next timer is {}", process.next_timer)
        })?;
        let heap = self.space.heap();
        // A program without one has it at zero.
        let in_space = USER_START <= heap.start && heap.start <= heap.end && heap.end <= USER_END - PAGE;
        ensure(heap == (0..0) || in_space, || format!("a heap at {heap:x?}"))?;
        let running = self.threads.get(self.current).map(|thread| thread.tid);
        // The machine has the registers of the thread that ran last, which may have ended since.
        let loaded_lives = self.threads.iter().any(|(_, thread)| thread.tid == self.loaded);
        let agrees = running == Some(self.loaded) || running.is_none() && !loaded_lives;
        ensure(agrees, || {
            format!("thread {running:?} runs, the machine has that of {}", self.loaded)
        })?;
        for (slot, thread) in self.threads.iter() {
            thread.pending.audit()?;
            let stack = thread.alt_stack.start.checked_add(thread.alt_stack.length);
            let sound = (1..process.next_tid).contains(&thread.tid)
                && stack.is_some_and(|end| end <= USER_END)
                && !thread.is_within_call()
                && (slot == self.current || thread.vector.is_some());
            ensure(sound, || format!("thread {slot} cannot be: {thread:?}"))?;
        }
        Ok(())
    }
}

impl Thread {
    /// Whether a call of its is done in part: what it counts is the call's own affair.
    fn is_within_call(&self) -> bool {
        self.moved != 0 || self.unfinished.is_some()
    }
}

impl Pending {
    /// Checks that what is known of signals is of those that wait.
    fn audit(&self) -> Result<(), String> {
        let mut set = 0;
        for info in self.infos() {
            let valid = (1..=SIGNALS).contains(&info.signal);
            ensure(valid && set & bit(info.signal) == 0, || {
                format!("signal {} waits and cannot, or twice", info.signal)
            })?;
            set |= bit(info.signal);
        }
        ensure(set == self.set(), || {
            "signals wait of which nothing is known".into()
        })
    }
}
