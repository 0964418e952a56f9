//! Programs in files: a snapshot of machine and kernel that another process goes on from.
//!
//! ```text
//! Program ── save ──> file: header, facts, program, notes, files, contents, kernel, machine, memory
//! file ── open ──> the same build and host? ── every checksum ── every table ── a machine tried ──> Program
//! ```
//! Memory is mapped privately from the file, so a start costs what is touched. A file that its owner changes while it is in use changes
//! programs; one that another user could change is refused.
//!
//! What a program has of the host is not in the file: large files are opened again, and refused if they are others. Clocks and the kernel's
//! randomness start anew with each request, as in any fork.

mod format;
mod stored_lent;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use mayfly_linux::fs::host_file::HostFile as GuestFile;
use mayfly_linux::kernel::{Fresh, Snapshot as KernelSnapshot};
use mayfly_linux::machine::Protection;
use mayfly_linux::net::address::Address;
use mayfly_vmm::{Host, HostFacts, HostFile, MappedPage, Snapshot, StoredMachine, monotonic_ns};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::clock::{ClockSource, fresh_seed};
use crate::disk::format::{Fault, Reader, Section, Writer, refused};
use crate::disk::stored_lent::StoredLent;
use crate::outside::Outside;
use crate::program::serve::{Protocol, Service};
use crate::program::{BootReport, Program, next_id};
use crate::spec::Limits;
use crate::spec::lent::Lent;
use crate::spec::mount::{Mount, grant_all};

/// What tells builds apart whose tables may differ.
const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "-", env!("MAYFLY_BUILD"));
/// Coarsest clock, in nanoseconds.
const GRAIN_MAX: u64 = mayfly_abi::limits::CLOCK_MAX_US as u64 * 1000;

/// Why a program is not in a file, or a file no program.
#[derive(Debug)]
pub enum DiskError {
    /// The host cannot read or write the file.
    File {
        /// The file.
        path: PathBuf,
        /// The host's answer.
        source: io::Error,
    },
    /// The file is stale, foreign or damaged, or the program is one that no file can hold.
    Refused {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The machine failed.
    Machine(mayfly_vmm::Error),
}

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DiskError::File { path, source } => write!(f, "snapshot {}: {source}", path.display()),
            DiskError::Refused { path, why } => write!(f, "snapshot {}: {why}", path.display()),
            DiskError::Machine(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for DiskError {}

/// A failure whose file is not named yet.
enum Failure {
    Fault(Fault),
    Machine(mayfly_vmm::Error),
}

impl From<Fault> for Failure {
    fn from(e: Fault) -> Self {
        Failure::Fault(e)
    }
}

impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Self {
        Failure::Fault(e.into())
    }
}

impl From<mayfly_vmm::Error> for Failure {
    fn from(e: mayfly_vmm::Error) -> Self {
        Failure::Machine(e)
    }
}

impl Failure {
    fn at(self, path: &Path) -> DiskError {
        let path = path.to_path_buf();
        match self {
            Failure::Fault(Fault::Io(source)) => DiskError::File { path, source },
            Failure::Fault(Fault::Refused(why)) => DiskError::Refused { path, why },
            Failure::Machine(e) => DiskError::Machine(e),
        }
    }
}

/// What a program's file says of where it was made.
#[derive(Serialize, Deserialize)]
struct Facts {
    build: String,
    host: HostFacts,
}

/// A program without machine and kernel.
#[derive(Serialize, Deserialize)]
struct About {
    /// The mark of its base's file, if it lies over one.
    base: Option<u128>,
    grain_ns: u64,
    sample: Option<Vec<u8>>,
    service: Option<StoredService>,
    cpu_ns: Option<u64>,
    report: BootReport,
}

#[derive(Serialize, Deserialize)]
struct StoredService {
    to: Address,
    answer_bytes: u64,
    stream_ns: u64,
}

/// What an open file is given.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// The program that it lies over, if it lies over one.
    pub base: Option<Arc<Program>>,
    /// How the end of an answer is known, if it is a server.
    pub protocol: Option<Arc<dyn Protocol>>,
    /// Who makes its connections to the outside, if anybody.
    pub outside: Option<Arc<dyn Outside>>,
    /// The folders that it writes, all of them, again: a file alone grants nothing.
    pub granted: Vec<Mount>,
    /// What of its bounds holds for them.
    pub limits: Limits,
}

impl Program {
    /// Writes the program to a file that only its owner may read, under another name until it is whole. `notes` come with it, for
    /// whoever opens it. Where `base` was saved or opened, and the program was loaded into it, the file holds what differs alone.
    ///
    /// # Errors
    /// The file cannot be written, or the program has state that no file can hold.
    pub fn save(&self, path: &Path, notes: &[u8], base: Option<&Program>) -> Result<(), DiskError> {
        self.write(path, notes, base).map_err(|e| e.at(path))
    }

    fn write(&self, path: &Path, notes: &[u8], base: Option<&Program>) -> Result<(), Failure> {
        let base = base.filter(|base| self.machine.is_over(&base.machine));
        let base = base.and_then(|base| Some((base, *base.mark.get()?)));
        let kernel = self.kernel.store(&files_of(&self.lent)).map_err(Fault::Refused)?;
        let machine = self.machine.store(base.map(|(base, _)| &*base.machine))?;
        let about = About {
            base: base.map(|(_, mark)| mark),
            grain_ns: self.clock.grain(),
            sample: self.sample.clone(),
            service: self.service.as_ref().map(|service| StoredService {
                to: service.to.clone(),
                answer_bytes: service.answer_bytes as u64,
                stream_ns: service.stream_ns,
            }),
            cpu_ns: self.cpu_ns,
            report: self.report,
        };
        let facts = Facts {
            build: BUILD.into(),
            host: self.machine.host().facts().clone(),
        };
        let of_base = base.map_or(&[][..], |(base, _)| &base.lent);
        let lent: Vec<StoredLent> = self
            .lent
            .iter()
            .map(|lent| StoredLent::of(lent, of_base))
            .collect();
        let given = self.lent.iter().zip(&lent);
        let given = given.filter(|(_, stored)| matches!(stored, StoredLent::Given { .. }));
        let mut writer = Writer::create(path)?;
        let mut small = |section, bytes: Vec<u8>| writer.section::<io::Error>(section, |write| write(&bytes));
        small(Section::Facts, encoded(&facts)?)?;
        small(Section::Program, encoded(&about)?)?;
        small(Section::Notes, notes.to_vec())?;
        small(Section::Files, encoded(&lent)?)?;
        writer.section::<io::Error>(Section::Contents, |write| {
            let mut files = given.map(|(lent, _)| lent.file.part(0..u64::MAX));
            files.try_for_each(|bytes| write(&bytes))
        })?;
        writer.section::<io::Error>(Section::Kernel, |write| write(&kernel))?;
        let bytes = encoded(&machine)?;
        writer.section::<io::Error>(Section::Machine, |write| write(&bytes))?;
        writer.section::<MemoryFailure>(Section::Memory, |write| {
            self.machine.visit_memory(&machine, write)
        })?;
        let mark = writer.finish()?;
        // A second file of the same program does not change what programs over it have been told.
        self.mark.get_or_init(|| mark);
        Ok(())
    }

    /// Opens a program's file, and gives the notes that came with it. To be called on a thread without a filter.
    ///
    /// # Errors
    /// The file cannot be read, was made by another build, on another host, with other files of the host, over another base, or is damaged: nothing
    /// of it is believed before it was checked.
    pub fn open(host: &Arc<Host>, path: &Path, opening: &Opening) -> Result<(Program, Vec<u8>), DiskError> {
        Program::read(host, path, opening).map_err(|e| e.at(path))
    }

    fn read(host: &Arc<Host>, path: &Path, opening: &Opening) -> Result<(Program, Vec<u8>), Failure> {
        let begin = monotonic_ns();
        let reader = Reader::open(path)?;
        let facts: Facts = decoded(&reader.read(Section::Facts)?)?;
        if facts.build != BUILD {
            return Ok(refused(format!(
                "it was made by the build {}, this is {BUILD}",
                facts.build
            ))?);
        }
        if let Some(difference) = facts.host.difference(host.facts()) {
            return Ok(refused(difference)?);
        }
        reader.check()?;
        let about: About = decoded(&reader.read(Section::Program)?)?;
        let base = about.over(opening)?;
        let service = about.serve(opening)?;
        if about.grain_ns > GRAIN_MAX {
            return Ok(refused(format!("clocks that move on by {} ns", about.grain_ns))?);
        }
        let notes = reader.read(Section::Notes)?;
        let lent = lend(&reader, base)?;
        let clock = ClockSource::new(host, about.grain_ns)?;
        let fresh = Fresh {
            clock: clock.now(),
            seed: fresh_seed()?,
        };
        let kernel = KernelSnapshot::load(&reader.read(Section::Kernel)?, &files_of(&lent), fresh);
        let mut kernel = kernel.map_err(|why| Fault::Refused(format!("its kernel cannot be: {why}")))?;
        opening.grant(&mut kernel)?;
        let machine = read_machine(host, &reader, base, &lent, &kernel)?;
        let report = BootReport {
            boot_ns: monotonic_ns() - begin,
            memory_bytes: machine.used_bytes(),
            ..about.report
        };
        let program = Program {
            id: next_id(),
            mark: OnceLock::from(reader.mark),
            machine,
            kernel,
            clock,
            sample: about.sample,
            service,
            outside: opening.outside.clone(),
            cpu_ns: about.cpu_ns,
            report,
            lent,
        };
        Ok((program, notes))
    }
}

impl Opening {
    /// Gives a program the folders that it writes.
    fn grant(&self, kernel: &mut KernelSnapshot) -> Result<(), Fault> {
        let granted = grant_all(&self.granted, &self.limits).map_err(|e| Fault::Refused(e.to_string()))?;
        let given = RefCell::new(BTreeSet::new());
        let offered = |path: &str| {
            let (guest, folder) = granted.iter().find(|(guest, _)| *guest == path)?;
            given.borrow_mut().insert(*guest);
            Some(folder.clone())
        };
        if let Err(path) = kernel.grant(&offered) {
            return refused(format!(
                "its program writes to {path}, which is not granted again"
            ));
        }
        match granted.iter().find(|(guest, _)| !given.borrow().contains(guest)) {
            Some((guest, _)) => refused(format!("its program was not granted {guest}")),
            None => Ok(()),
        }
    }
}

impl About {
    /// The base, if it is the one that it lies over.
    fn over<'a>(&self, opening: &'a Opening) -> Result<Option<&'a Program>, Failure> {
        let base = opening.base.as_deref();
        let mark = base.and_then(|base| base.mark.get().copied());
        match (self.base, mark) {
            (None, _) => Ok(None),
            (Some(wanted), Some(mark)) if wanted == mark => Ok(base),
            (Some(_), _) => Ok(refused("it lies over another base")?),
        }
    }

    /// What it serves, if it does.
    fn serve(&self, opening: &Opening) -> Result<Option<Service>, Failure> {
        match (&self.service, &opening.protocol) {
            (None, None) => Ok(None),
            (Some(service), Some(protocol)) => Ok(Some(Service {
                to: service.to.clone(),
                protocol: protocol.clone(),
                answer_bytes: service.answer_bytes.min(u32::MAX.into()) as usize,
                stream_ns: service.stream_ns,
            })),
            (None, Some(_)) => Ok(refused("its program is no server")?),
            (Some(_), None) => Ok(refused("its program is a server")?),
        }
    }
}

/// The files that the host lends.
fn lend(reader: &Reader, base: Option<&Program>) -> Result<Vec<Lent>, Failure> {
    let stored: Vec<StoredLent> = decoded(&reader.read(Section::Files)?)?;
    let contents = reader.read(Section::Contents)?;
    let (mut rest, base) = (&contents[..], base.map_or(&[][..], |base| &base.lent));
    let lent = stored.into_iter().map(|stored| stored.lend(base, &mut rest));
    let lent = lent.collect::<Result<Vec<Lent>, Fault>>()?;
    match rest.is_empty() {
        true => Ok(lent),
        false => Ok(refused("bytes of no file")?),
    }
}

/// As the kernel knows them.
fn files_of(lent: &[Lent]) -> Vec<GuestFile> {
    lent.iter().map(|lent| lent.file.clone()).collect()
}

/// The machine, when its tables and its registers are what they may be, and what the kernel has mapped.
fn read_machine(
    host: &Arc<Host>,
    reader: &Reader,
    base: Option<&Program>,
    lent: &[Lent],
    kernel: &KernelSnapshot,
) -> Result<Arc<Snapshot>, Failure> {
    let stored: StoredMachine = decoded(&reader.read(Section::Machine)?)?;
    let (start, length) = reader.place(Section::Memory);
    if length != stored.memory_bytes() {
        return Ok(refused("its memory has another length than its machine")?);
    }
    let file = Arc::new(reader.file.try_clone()?);
    let windows = windows(lent)?;
    let over = base.map(|base| &base.machine);
    let unsound = |why| Fault::Refused(format!("its machine cannot be: {why}"));
    let (machine, pages) = Snapshot::load(host, &stored, over, (&file, start), windows)?.map_err(unsound)?;
    let machine = Arc::new(machine);
    kernel.allows(pages.iter().map(seen)).map_err(unsound)?;
    machine.try_machine(kernel.vectors())?.map_err(unsound)?;
    Ok(machine)
}

/// The host's files that have a memory slot, by its number.
fn windows(lent: &[Lent]) -> Result<Vec<Arc<HostFile>>, Failure> {
    let slot = |lent: &Lent| Some((lent.file.slot?.0, lent.origin.as_ref()?.window.clone()?));
    let mut windows: Vec<_> = lent.iter().filter_map(slot).collect();
    windows.sort_by_key(|(slot, _)| *slot);
    let in_order = windows.iter().enumerate().all(|(i, (slot, _))| i as u32 == *slot);
    match in_order {
        true => Ok(windows.into_iter().map(|(_, window)| window).collect()),
        false => Ok(refused("its files have the slots of others")?),
    }
}

/// A page as the kernel's crate has it.
fn seen(page: &MappedPage) -> (u64, Protection, bool) {
    let protection = Protection {
        read: page.protection.read,
        write: page.protection.write,
        execute: page.protection.execute,
    };
    (page.address, protection, page.of_file)
}

/// A failure to read the memory that is written.
enum MemoryFailure {
    Machine(mayfly_vmm::Error),
    Io(io::Error),
}

impl From<io::Error> for MemoryFailure {
    fn from(e: io::Error) -> Self {
        MemoryFailure::Io(e)
    }
}

impl From<mayfly_vmm::Error> for MemoryFailure {
    fn from(e: mayfly_vmm::Error) -> Self {
        MemoryFailure::Machine(e)
    }
}

impl From<MemoryFailure> for Failure {
    fn from(e: MemoryFailure) -> Self {
        match e {
            MemoryFailure::Machine(e) => Failure::Machine(e),
            MemoryFailure::Io(e) => Failure::Fault(e.into()),
        }
    }
}

fn encoded(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    Ok(postcard::to_allocvec(value).map_err(io::Error::other)?)
}

fn decoded<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Fault> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => refused(format!("{} bytes too many", rest.len())),
        Err(e) => refused(format!("a section that cannot be read: {e}")),
    }
}
