//! What to boot, as Deno describes it: the version, then items, all integers little-endian.
//!
//! ```text
//! version u32 | tag u32 | length u32 | payload | tag u32 | length u32 | payload | ...
//! ```
//! A pair in a payload (mount, file) is the length of its first half as a u32, then both halves.

use std::path::PathBuf;

use mayfly_abi::limits::{
    CLOCK_MAX_US, DESCRIPTORS_MAX, DESCRIPTORS_MIN, MAPPINGS_MAX, MAPPINGS_MIN, MEMORY_MAX, MEMORY_MIN,
    THREADS_MAX, WARMUP_RUNS_MAX,
};
use mayfly_pool::{Limits, Load, Loading, Mount, Spec, WarmupRequest, library_mounts};
use mayfly_wire::{BODY_MAX, Kind, Limits as FrameLimits, Progress, progress};

use crate::abi::{Fault, Status, fault, numbers};
use crate::cache::check_path;
use crate::warmup::{Entry, Plan};

/// The only version there is.
pub const VERSION: u32 = 4;
/// Most items of a description.
const ITEMS_MAX: usize = 100_000;
/// Mark of a warm-up frame: its last answer is kept.
const KEEP_ANSWER: u32 = 1;
/// Mark of a warm-up frame: forks rehearse it, and it is tried out after the boot.
const REHEARSE: u32 = 2;
/// Mark of a warm-up frame: its answer tells whether its group still changes the program.
const GAUGE: u32 = 4;

numbers! {
    /// What an item is.
    Tag: u32, TAGS {
        /// The program's path in the guest; wanted once.
        Path = 1 "path",
        /// An argument, the program's own name first.
        Argument = 2 "argument",
        /// `NAME=value`.
        Variable = 3 "variable",
        /// Working directory in the guest.
        Folder = 4 "folder",
        /// Directory in the guest in which files can be made.
        Writable = 5 "writable",
        /// A pair: path in the guest, path on the host.
        Mount = 6 "mount",
        /// A pair: path in the guest, contents.
        File = 7 "file",
        /// A host path of a program: its interpreter and libraries are mounted.
        Libraries = 8 "libraries",
        /// Memory u64, output u32, log u32, boot time in nanoseconds u64, CPU time in nanoseconds u64 (0: no limit), system
        /// calls u64, descriptors u32, threads u32, mappings u32.
        Limits = 9 "limits",
        /// Runs u32, group u32, marks u32 ([`KEEP_ANSWER`], [`REHEARSE`], [`GAUGE`]), milliseconds u32 for one run, until its
        /// runs are first compared, and for all runs, frame.
        Warmup = 10 "warmup",
        /// Empty: the program answers draw frames, and its generators are brought to their next seed before the snapshot.
        Reseed = 11 "reseed",
        /// Microseconds u32 by which the program's clocks move on, up to a second; exact without it.
        Clock = 12 "clock",
        /// Handle u32 of a program that waits to be told what to load, and the request frame that tells it. Without it the program
        /// boots by itself; with it there are files, mounts, limits, warm-up, reseed and last only.
        Base = 13 "base",
        /// A request frame whose answer is dropped, after all else and before the snapshot.
        Last = 14 "last",
        /// Of a program for a base, until its snapshot: memory u64, memory u64 that a request may use beyond what is used then, and CPU
        /// time u64 in nanoseconds until it waits (0: no limit). Without it the limits of its requests hold.
        Loading = 15 "loading",
        /// Handle u32 of the program that it lies over or 0, and the path of a snapshot on the host: nothing is booted, and there is
        /// nothing else.
        Stored = 16 "stored",
    }
}

impl Tag {
    fn from_number(n: u32) -> Option<Tag> {
        let all = [
            Tag::Path,
            Tag::Argument,
            Tag::Variable,
            Tag::Folder,
            Tag::Writable,
            Tag::Mount,
            Tag::File,
            Tag::Libraries,
            Tag::Limits,
            Tag::Warmup,
            Tag::Reseed,
            Tag::Clock,
            Tag::Base,
            Tag::Last,
            Tag::Loading,
            Tag::Stored,
        ];
        all.into_iter().find(|t| *t as u32 == n)
    }
}

/// How a program comes to be.
#[derive(Debug)]
pub enum Start {
    /// It boots by itself.
    Boot(Spec),
    /// It is loaded into the program of this handle.
    Load(i32, Load),
    /// It goes on from a file, over the program of this handle.
    Open(Option<i32>, PathBuf),
}

/// A program and its warm-up.
#[derive(Debug)]
pub struct Description {
    /// What to start.
    pub start: Start,
    /// What to run before the snapshot.
    pub warmup: Plan,
}

/// Takes a description apart. Every length is checked before it is used.
pub fn decode(bytes: &[u8]) -> Result<Description, Fault> {
    let mut rest = Reader { rest: bytes };
    let version = rest.number()?;
    if version != VERSION {
        return Err(wrong(format!("version {version}, want {VERSION}")));
    }
    let mut spec = Spec {
        folder: "/".into(),
        ..Spec::default()
    };
    let (mut entries, mut base, mut bounds, mut stored) = (Vec::new(), None, None, None);
    let mut items = 0;
    while !rest.rest.is_empty() {
        items += 1;
        if items > ITEMS_MAX {
            return Err(wrong(format!("over {ITEMS_MAX} items, want fewer")));
        }
        let tag = rest.number()?;
        let length = rest.number()?;
        let payload = rest.take(length as usize)?;
        let tag = Tag::from_number(tag).ok_or_else(|| wrong(format!("tag {tag}, want a known one")))?;
        match tag {
            Tag::Base => base = Some(base_item(payload)?),
            Tag::Loading => bounds = Some(loading(payload)?),
            Tag::Stored => stored = Some(stored_item(payload)?),
            _ => add_item(&mut spec, &mut entries, tag, payload)?,
        }
    }
    if let Some((base, path)) = stored {
        return match items {
            1 => Ok(Description {
                start: Start::Open(base, path),
                warmup: Plan::new(entries),
            }),
            _ => Err(wrong("a snapshot among other items, want it by itself")),
        };
    }
    let start = match base {
        Some((handle, frame)) => Start::Load(handle, to_load(spec, frame, bounds.unwrap_or_default())?),
        None if bounds.is_some() => return Err(wrong("bounds of a load without a base, want one")),
        None if spec.path.starts_with('/') => Start::Boot(spec),
        None => return Err(wrong(format!("program {:?}, want an absolute path", spec.path))),
    };
    Ok(Description {
        start,
        warmup: Plan::new(entries),
    })
}

fn base_item(payload: &[u8]) -> Result<(i32, Vec<u8>), Fault> {
    let mut r = Reader { rest: payload };
    let handle = r.number()?;
    let handle = i32::try_from(handle).map_err(|_| wrong(format!("base {handle}, want a handle")))?;
    check_frame(r.rest)?;
    Ok((handle, r.rest.to_vec()))
}

fn stored_item(payload: &[u8]) -> Result<(Option<i32>, PathBuf), Fault> {
    let mut r = Reader { rest: payload };
    let handle = r.number()?;
    let handle = i32::try_from(handle).map_err(|_| wrong(format!("base {handle}, want a handle")))?;
    let path = PathBuf::from(text(r.rest)?);
    check_path(&path)?;
    Ok(((handle > 0).then_some(handle), path))
}

/// What is the base's affair may not be said again.
fn to_load(spec: Spec, frame: Vec<u8>, loading: Loading) -> Result<Load, Fault> {
    let Spec {
        mounts,
        reseed,
        last,
        limits,
        ..
    } = spec;
    let of_base = [
        ("a path", spec.path.is_empty()),
        ("an argument", spec.arguments.is_empty()),
        ("a variable", spec.environment.is_empty()),
        ("a folder", spec.folder == "/"),
        ("a writable folder", spec.writable.is_none()),
        ("a clock", spec.clock_grain_ns == 0),
    ];
    match of_base.iter().find(|(_, absent)| !absent) {
        Some((name, _)) => Err(wrong(format!("{name} beside a base, want what the base has"))),
        None => Ok(Load {
            mounts,
            frame,
            reseed,
            last,
            limits,
            loading,
        }),
    }
}

fn add_item(spec: &mut Spec, entries: &mut Vec<Entry>, tag: Tag, payload: &[u8]) -> Result<(), Fault> {
    match tag {
        Tag::Path => spec.path = text(payload)?,
        Tag::Argument => spec.arguments.push(text(payload)?),
        Tag::Variable => spec.environment.push(text(payload)?),
        Tag::Folder => spec.folder = absolute(payload)?,
        Tag::Writable => spec.writable = Some(absolute(payload)?),
        Tag::Mount => {
            let (guest, host) = pair(payload)?;
            spec.mounts.push(Mount::host(absolute(guest)?, absolute(host)?));
        }
        Tag::File => {
            let (guest, contents) = pair(payload)?;
            spec.mounts.push(Mount::bytes(absolute(guest)?, contents));
        }
        Tag::Libraries => spec.mounts.extend(library_mounts(absolute(payload)?.as_ref())),
        Tag::Limits => spec.limits = limits(payload)?,
        Tag::Warmup => entries.push(warmup(payload)?),
        Tag::Reseed if payload.is_empty() => spec.reseed = true,
        Tag::Reseed => return Err(wrong("a reseed item with bytes, want an empty one")),
        Tag::Last => {
            check_frame(payload)?;
            spec.last = Some(payload.to_vec());
        }
        Tag::Clock => spec.clock_grain_ns = clock(payload)?,
        Tag::Base | Tag::Loading | Tag::Stored => {
            return Err(wrong("a base among what it has, want it by itself"));
        }
    }
    Ok(())
}

fn loading(payload: &[u8]) -> Result<Loading, Fault> {
    let mut r = Reader { rest: payload };
    let (memory_bytes, request_bytes, cpu_ns) = (r.long()?, r.long()?, r.long()?);
    if !r.rest.is_empty() {
        return Err(wrong("bounds of a load that go on, want 24 bytes"));
    }
    match [memory_bytes, request_bytes]
        .into_iter()
        .find(|m| *m > MEMORY_MAX)
    {
        Some(most) => Err(wrong(format!(
            "memory of {most} bytes for a load, want at most 1 TiB"
        ))),
        None => Ok(Loading {
            memory_bytes,
            request_bytes,
            cpu_ns: (cpu_ns > 0).then_some(cpu_ns),
        }),
    }
}

fn clock(payload: &[u8]) -> Result<u64, Fault> {
    let mut r = Reader { rest: payload };
    match r.number()? {
        micros @ 0..=CLOCK_MAX_US if r.rest.is_empty() => Ok(u64::from(micros) * 1000),
        micros => Err(wrong(format!(
            "a clock of {micros} us, want at most {CLOCK_MAX_US}"
        ))),
    }
}

fn limits(payload: &[u8]) -> Result<Limits, Fault> {
    let mut r = Reader { rest: payload };
    let (memory_bytes, output_bytes) = (r.long()?, r.number()?);
    let (log_bytes, boot_ns) = (r.number()?, r.long()?);
    let (cpu_ns, calls) = (r.long()?, r.long()?);
    let (descriptors, threads, mappings) = (r.number()?, r.number()?, r.number()?);
    if !r.rest.is_empty() {
        return Err(wrong("limits that go on, want 52 bytes"));
    }
    if !(MEMORY_MIN..=MEMORY_MAX).contains(&memory_bytes) {
        return Err(wrong(format!(
            "memory of {memory_bytes} bytes, want 1 MiB to 1 TiB"
        )));
    }
    if output_bytes > BODY_MAX || log_bytes > BODY_MAX {
        let most = output_bytes.max(log_bytes);
        return Err(wrong(format!("output of {most} bytes, want at most {BODY_MAX}")));
    }
    let tables = [
        (descriptors, DESCRIPTORS_MIN, DESCRIPTORS_MAX, "descriptors"),
        (threads, 1, THREADS_MAX, "threads"),
        (mappings, MAPPINGS_MIN, MAPPINGS_MAX, "mappings"),
    ];
    for (number, least, most, what) in tables {
        if !(least..=most).contains(&number) {
            return Err(wrong(format!("{number} {what}, want {least} to {most}")));
        }
    }
    Ok(Limits {
        // Nothing is granted.
        granted_bytes: 0,
        granted_files: 0,
        memory_bytes,
        output_bytes,
        log_bytes: log_bytes as usize,
        boot_ns,
        cpu_ns: (cpu_ns > 0).then_some(cpu_ns),
        calls,
        descriptors: descriptors as usize,
        sockets: 0,
        threads: threads as usize,
        mappings: mappings as usize,
    })
}

fn warmup(payload: &[u8]) -> Result<Entry, Fault> {
    let mut r = Reader { rest: payload };
    let (runs, group, marks) = (r.number()?, r.number()?, r.number()?);
    let (timeout_ms, window_ms, most_ms) = (r.number()?, r.number()?, r.number()?);
    if runs > WARMUP_RUNS_MAX || marks > KEEP_ANSWER | REHEARSE | GAUGE {
        return Err(wrong(format!(
            "warm-up of {runs} runs, marks {marks}, want at most {WARMUP_RUNS_MAX} and 7"
        )));
    }
    check_frame(r.rest)?;
    Ok(Entry {
        request: WarmupRequest {
            frame: r.rest.to_vec(),
            rehearsed: marks & REHEARSE != 0,
            timeout_ns: u64::from(timeout_ms) * 1_000_000,
        },
        runs,
        window_ns: u64::from(window_ms) * 1_000_000,
        most_ns: u64::from(most_ms) * 1_000_000,
        group,
        tell: marks & KEEP_ANSWER != 0,
        gauge: marks & GAUGE != 0,
    })
}

/// Refuses bytes that are not exactly one request frame. What its header says is the guest's to judge.
pub fn check_frame(bytes: &[u8]) -> Result<(), Fault> {
    match progress(bytes, Kind::Request, FrameLimits::default()) {
        Ok(Progress::Whole(_)) => Ok(()),
        Ok(Progress::Head(missing) | Progress::Parts(_, missing)) => {
            let text = format!("take a request frame: {missing} bytes are missing, want a whole one");
            Err(fault(Status::BadArgument, text))
        }
        Err(e) => Err(fault(Status::BadArgument, format!("take a request frame: {e}"))),
    }
}

fn text(payload: &[u8]) -> Result<String, Fault> {
    match str::from_utf8(payload) {
        Ok(t) if !t.contains('\0') => Ok(t.into()),
        Ok(_) => Err(wrong("a text with a NUL, want none")),
        Err(e) => Err(wrong(format!("a text that is not UTF-8 ({e}), want UTF-8"))),
    }
}

fn absolute(payload: &[u8]) -> Result<String, Fault> {
    let path = text(payload)?;
    if path.starts_with('/') {
        Ok(path)
    } else {
        Err(wrong(format!("path {path:?}, want an absolute one")))
    }
}

fn pair(payload: &[u8]) -> Result<(&[u8], &[u8]), Fault> {
    let mut r = Reader { rest: payload };
    let length = r.number()?;
    let first = r.take(length as usize)?;
    Ok((first, r.rest))
}

fn wrong(what: impl AsRef<str>) -> Fault {
    fault(
        Status::BadArgument,
        format!("read a program's description: {}", what.as_ref()),
    )
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], Fault> {
        let cut = || wrong(format!("{} bytes left, want {n}", self.rest.len()));
        let (taken, rest) = self.rest.split_at_checked(n).ok_or_else(cut)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    fn number(&mut self) -> Result<u32, Fault> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn long(&mut self) -> Result<u64, Fault> {
        Ok(u64::from_le_bytes(self.array()?))
    }
}

#[cfg(test)]
mod tests;
