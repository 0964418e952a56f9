//! What to boot, as Deno describes it: the version, then items, all integers little-endian.
//!
//! ```text
//! version u32 | tag u32 | length u32 | payload | tag u32 | length u32 | payload | ...
//! ```
//! A pair in a payload (mount, file) is the length of its first half as a u32, then both halves.

use mayfly_pool::{Limits, Mount, Spec, WarmupRequest, library_mounts};
use mayfly_wire::{BODY_MAX, Kind, Limits as FrameLimits, Progress, progress};

use crate::abi::{Fault, Status, fault, numbers};
use crate::warmup::{Entry, Plan};

/// The only version there is.
pub const VERSION: u32 = 2;
/// Most descriptors, threads and mappings that a guest may be given: each costs the host memory, and a reset looks at all.
const DESCRIPTORS_MAX: u32 = 65_536;
const THREADS_MAX: u32 = 1024;
const MAPPINGS_MAX: u32 = 65_530;
/// Most items of a description.
const ITEMS_MAX: usize = 100_000;
/// Most runs of one warm-up frame.
const RUNS_MAX: u32 = 1_000_000;
/// Mark of a warm-up frame: its last answer is kept.
const KEEP_ANSWER: u32 = 1;
/// Mark of a warm-up frame: forks rehearse it, and it is tried out after the boot.
const REHEARSE: u32 = 2;

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
        /// Runs u32, group u32, marks u32 ([`KEEP_ANSWER`], [`REHEARSE`]), milliseconds for one run u32 and for all runs u32, frame.
        Warmup = 10 "warmup",
        /// Empty: the program answers draw frames, and its generators are brought to their next seed before the snapshot.
        Draws = 11 "draws",
        /// Microseconds u32 by which the program's clocks move on, up to a second; exact without it.
        Clock = 12 "clock",
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
            Tag::Draws,
            Tag::Clock,
        ];
        all.into_iter().find(|t| *t as u32 == n)
    }
}

/// A program and its warm-up.
#[derive(Debug)]
pub struct Description {
    /// What to boot.
    pub spec: Spec,
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
    let mut entries = Vec::new();
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
        add_item(&mut spec, &mut entries, tag, payload)?;
    }
    if !spec.path.starts_with('/') {
        return Err(wrong(format!("program {:?}, want an absolute path", spec.path)));
    }
    Ok(Description {
        spec,
        warmup: Plan::new(entries),
    })
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
        Tag::Draws if payload.is_empty() => spec.draws = true,
        Tag::Draws => return Err(wrong("a draws item with bytes, want an empty one")),
        Tag::Clock => spec.clock_grain_ns = clock(payload)?,
    }
    Ok(())
}

fn clock(payload: &[u8]) -> Result<u64, Fault> {
    let mut r = Reader { rest: payload };
    match r.number()? {
        micros @ 0..=1_000_000 if r.rest.is_empty() => Ok(u64::from(micros) * 1000),
        micros => Err(wrong(format!("a clock of {micros} us, want at most 1000000"))),
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
    if !(1 << 20..=1 << 40).contains(&memory_bytes) {
        return Err(wrong(format!(
            "memory of {memory_bytes} bytes, want 1 MiB to 1 TiB"
        )));
    }
    if output_bytes > BODY_MAX || log_bytes > BODY_MAX {
        let most = output_bytes.max(log_bytes);
        return Err(wrong(format!("output of {most} bytes, want at most {BODY_MAX}")));
    }
    let tables = [
        (descriptors, 3, DESCRIPTORS_MAX, "descriptors"),
        (threads, 1, THREADS_MAX, "threads"),
        (mappings, 16, MAPPINGS_MAX, "mappings"),
    ];
    for (number, least, most, what) in tables {
        if !(least..=most).contains(&number) {
            return Err(wrong(format!("{number} {what}, want {least} to {most}")));
        }
    }
    Ok(Limits {
        memory_bytes,
        output_bytes,
        log_bytes: log_bytes as usize,
        boot_ns,
        cpu_ns: (cpu_ns > 0).then_some(cpu_ns),
        calls,
        descriptors: descriptors as usize,
        threads: threads as usize,
        mappings: mappings as usize,
    })
}

fn warmup(payload: &[u8]) -> Result<Entry, Fault> {
    let mut r = Reader { rest: payload };
    let (runs, group, marks) = (r.number()?, r.number()?, r.number()?);
    let (timeout_ms, budget_ms) = (r.number()?, r.number()?);
    if runs > RUNS_MAX || marks > KEEP_ANSWER | REHEARSE {
        return Err(wrong(format!(
            "warm-up of {runs} runs, marks {marks}, want at most {RUNS_MAX} and 3"
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
        budget_ns: u64::from(budget_ms) * 1_000_000,
        group,
        tell: marks & KEEP_ANSWER != 0,
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
mod tests {
    use mayfly_pool::Source;

    use super::*;

    fn item(tag: Tag, payload: &[u8]) -> Vec<u8> {
        let head = [(tag as u32).to_le_bytes(), (payload.len() as u32).to_le_bytes()].concat();
        [&head[..], payload].concat()
    }

    fn two(first: &str, second: &[u8]) -> Vec<u8> {
        [&(first.len() as u32).to_le_bytes()[..], first.as_bytes(), second].concat()
    }

    fn frame() -> Vec<u8> {
        let head = mayfly_wire::Head {
            kind: Kind::Request,
            header_bytes: 2,
            body_bytes: 0,
        };
        [&head.encode()[..], b"{}"].concat()
    }

    fn whole() -> Vec<u8> {
        let limits: [&[u8]; 9] = [
            &(64u64 << 20).to_le_bytes(),
            &1000u32.to_le_bytes(),
            &2000u32.to_le_bytes(),
            &5_000_000_000u64.to_le_bytes(),
            &7_000_000_000u64.to_le_bytes(),
            &9_000_000_000u64.to_le_bytes(),
            &100u32.to_le_bytes(),
            &20u32.to_le_bytes(),
            &3000u32.to_le_bytes(),
        ];
        let warm = [3u32, 1, KEEP_ANSWER | REHEARSE, 200, 400]
            .map(u32::to_le_bytes)
            .concat();
        [
            VERSION.to_le_bytes().to_vec(),
            item(Tag::Path, b"/program"),
            item(Tag::Argument, b"program"),
            item(Tag::Argument, b"-v"),
            item(Tag::Variable, b"A=b"),
            item(Tag::Folder, b"/app"),
            item(Tag::Writable, b"/tmp"),
            item(Tag::Mount, &two("/program", b"/bin/true")),
            item(Tag::File, &two("/app/main.js", b"1 + 1\0")),
            item(Tag::Draws, b""),
            item(Tag::Clock, &100u32.to_le_bytes()),
            item(Tag::Limits, &limits.concat()),
            item(Tag::Warmup, &[&warm[..], &frame()].concat()),
        ]
        .concat()
    }

    #[test]
    fn decode_gives_every_item() {
        let Description { spec, mut warmup } = decode(&whole()).unwrap();
        assert_eq!((spec.path.as_str(), spec.folder.as_str()), ("/program", "/app"));
        assert_eq!(spec.arguments, ["program", "-v"]);
        assert_eq!(spec.environment, ["A=b"]);
        assert!(spec.draws);
        assert_eq!(spec.clock_grain_ns, 100_000);
        assert_eq!(spec.writable.as_deref(), Some("/tmp"));
        assert_eq!(spec.mounts[0], Mount::host("/program", "/bin/true"));
        assert_eq!(spec.mounts[1].source, Source::Bytes(b"1 + 1\0".to_vec()));
        let l = spec.limits;
        assert_eq!(
            (l.memory_bytes, l.output_bytes, l.log_bytes, l.boot_ns),
            (64 << 20, 1000, 2000, 5_000_000_000)
        );
        assert_eq!(
            (l.cpu_ns, l.calls, l.descriptors, l.threads, l.mappings),
            (Some(7_000_000_000), 9_000_000_000, 100, 20, 3000)
        );
        let mut runs = 0;
        while let Some(request) = warmup.next() {
            assert_eq!(request.frame, frame());
            assert_eq!((request.rehearsed, request.timeout_ns), (true, 200_000_000));
            warmup.hear(b"answer", 200_000_000);
            runs += 1;
        }
        // The time for all is up before the third.
        assert_eq!(runs, 2);
        assert_eq!(warmup.into_answers(), [b"answer"]);
    }

    #[test]
    fn decode_refuses_every_cut_but_those_between_items() {
        let bytes = whole();
        let mut ends = vec![4];
        while let Some(at) = ends.last().copied().filter(|at| *at < bytes.len()) {
            let length = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap());
            ends.push(at + 8 + length as usize);
        }
        for cut in 0..bytes.len() {
            let fine = cut > 4 && ends.contains(&cut);
            assert_eq!(decode(&bytes[..cut]).is_ok(), fine, "{cut}");
        }
    }

    #[test]
    fn decode_names_what_is_wrong() {
        let start = VERSION.to_le_bytes();
        let cases: [(Vec<u8>, &str); 8] = [
            (9u32.to_le_bytes().into(), "version 9, want 2"),
            (
                [&start[..], &99u32.to_le_bytes(), &[0; 4]].concat(),
                "tag 99, want",
            ),
            ([&start[..], &item(Tag::Argument, b"a\0")].concat(), "a NUL"),
            ([&start[..], &item(Tag::Argument, b"\xff")].concat(), "not UTF-8"),
            ([&start[..], &item(Tag::Folder, b"app")].concat(), "\"app\", want"),
            ([&start[..], &item(Tag::Limits, &[0; 52])].concat(), "memory of 0"),
            (
                [&start[..], &item(Tag::Clock, &[0xff; 4])].concat(),
                "clock of 4294967295",
            ),
            (start.into(), "program \"\", want"),
        ];
        for (bytes, want) in cases {
            let fault = decode(&bytes).unwrap_err();
            assert_eq!(fault.status, Status::BadArgument);
            assert!(fault.text.contains(want), "{}", fault.text);
        }
    }

    #[test]
    fn limits_are_bounded_and_no_cpu_time_is_no_limit() {
        let payload = |cpu: u64, tables: [u32; 3]| {
            let head = [64u64 << 20, 0, 1, cpu, u64::MAX].map(u64::to_le_bytes).concat();
            [&head[..], &tables.map(u32::to_le_bytes).concat()[..]].concat()
        };
        let least = limits(&payload(0, [3, 1, 16])).unwrap();
        assert_eq!((least.cpu_ns, least.calls, least.mappings), (None, u64::MAX, 16));
        assert_eq!(limits(&payload(1, [3, 1, 16])).unwrap().cpu_ns, Some(1));
        assert!(limits(&payload(0, [65_536, 1024, 65_530])).is_ok());
        for bad in [
            [2, 1, 16],
            [3, 0, 16],
            [3, 1, 15],
            [65_537, 1, 16],
            [3, 1025, 16],
            [3, 1, 65_531],
        ] {
            assert!(limits(&payload(0, bad)).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn check_frame_wants_one_whole_request() {
        let whole = frame();
        assert!(check_frame(&whole).is_ok());
        let long = [&whole[..], b"x"].concat();
        let mut answer = whole.clone();
        answer[5] = Kind::Response as u8;
        for bad in [&whole[..17], &whole[..3], &[], &long, &answer] {
            assert_eq!(check_frame(bad).unwrap_err().status, Status::BadArgument);
        }
    }

    #[test]
    fn decode_never_panics_on_changed_bytes() {
        let bytes = whole();
        let mut state = 88_172_645_463_325_252u64;
        let mut random = |end: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % end as u64) as usize
        };
        let mut refused = 0;
        for _ in 0..20_000 {
            let mut bad = bytes.clone();
            for _ in 0..=random(3) {
                let at = random(bad.len());
                bad[at] = random(256) as u8;
            }
            refused += usize::from(decode(&bad).is_err());
        }
        assert!(refused > 5000, "{refused}");
    }
}
