//! The file of a snapshot: a header of one page, then sections, each from a page's start and filled up with zeros.
//!
//! ```text
//! 0     magic 8 | version u32 | count u32 | count times: length u64, checksum u128 | zeros | checksum u128 of all before it
//! 4096  sections, back to back: where each lies follows from the lengths before it
//! ```
//! Integers are little-endian, checksums XXH3 of 128 bits: they find damage, and no malice. So whoever reads a section that fits its
//! checksum still believes nothing of it. Every byte of the file is under one checksum.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{Xxh3Default, xxh3_128};

/// The first bytes.
const MAGIC: [u8; 8] = *b"\x7fMAYFLY\n";
/// The only version there is. Grows with every change of what is in the sections.
pub(crate) const VERSION: u32 = 1;
/// Bytes of a page, and of the header.
const PAGE: u64 = 4096;
const HEADER: usize = PAGE as usize;
/// Where the header's own checksum lies.
const SEAL: usize = HEADER - 16;
/// Bytes read at a time: they stay in the CPU's second cache.
const CHUNK: usize = 256 << 10;

/// What a section is, in the file's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// Build and host that it depends on.
    Facts,
    /// The program without its state.
    Program,
    /// What the one who made it wrote beside: configuration and permissions.
    Notes,
    /// Files that the host lends.
    Files,
    /// Bytes of those that are not on the host.
    Contents,
    /// The kernel's tables.
    Kernel,
    /// Registers and numbers of the machine.
    Machine,
    /// Its memory.
    Memory,
}

impl Section {
    const ALL: [Section; 8] = [
        Section::Facts,
        Section::Program,
        Section::Notes,
        Section::Files,
        Section::Contents,
        Section::Kernel,
        Section::Machine,
        Section::Memory,
    ];

    fn name(self) -> &'static str {
        match self {
            Section::Facts => "facts",
            Section::Program => "program",
            Section::Notes => "notes",
            Section::Files => "files",
            Section::Contents => "contents",
            Section::Kernel => "kernel",
            Section::Machine => "machine",
            Section::Memory => "memory",
        }
    }

    /// Most bytes of it.
    fn most(self) -> u64 {
        match self {
            Section::Facts => 64 << 10,
            Section::Program | Section::Files => 32 << 20,
            Section::Notes => 16 << 20,
            Section::Contents => 1 << 30,
            Section::Kernel => 128 << 20,
            Section::Machine => 1 << 20,
            Section::Memory => 1 << 36,
        }
    }
}

/// Why a file is of no use.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The host cannot read or write it.
    Io(io::Error),
    /// It is not what is wanted.
    Refused(String),
}

impl From<io::Error> for Fault {
    fn from(e: io::Error) -> Self {
        Fault::Io(e)
    }
}

/// A refusal.
pub(crate) fn refused<T>(why: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Refused(why.into()))
}

/// A checksum as it grows.
#[derive(Default)]
pub(crate) struct Checksum(Xxh3Default);

impl Checksum {
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub fn value(&self) -> u128 {
        self.0.digest128()
    }

    pub fn of(bytes: &[u8]) -> u128 {
        xxh3_128(bytes)
    }
}

/// Bytes that fill a section up to whole pages.
fn padding(length: u64) -> usize {
    (length.next_multiple_of(PAGE) - length) as usize
}

/// A file on its way: unseen under a name of its own until it is whole.
pub(crate) struct Writer {
    file: File,
    temporary: PathBuf,
    path: PathBuf,
    sections: Vec<(u64, u128)>,
}

impl Writer {
    /// Begins a file that nobody but its owner may read.
    pub fn create(path: &Path) -> io::Result<Writer> {
        let name = path
            .file_name()
            .ok_or_else(|| io::Error::other("not the name of a file"))?;
        let unique = crate::clock::fresh_seed()?;
        let unique = u64::from_le_bytes(unique[..8].try_into().unwrap_or_default());
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{unique:016x}.tmp"));
        let temporary = path.with_file_name(temporary);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)?;
        let mut writer = Writer {
            file,
            temporary,
            path: path.into(),
            sections: Vec::new(),
        };
        writer.file.write_all(&[0; HEADER])?;
        Ok(writer)
    }

    /// Writes the next section, in pieces that `write` gives.
    pub fn section<E: From<io::Error>>(
        &mut self,
        section: Section,
        write: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E>,
    ) -> Result<(), E> {
        debug_assert_eq!(Section::ALL.get(self.sections.len()), Some(&section));
        let (mut length, mut checksum) = (0, Checksum::default());
        let file = &mut self.file;
        write(&mut |bytes| {
            length += bytes.len() as u64;
            checksum.add(bytes);
            Ok(file.write_all(bytes)?)
        })?;
        if length > section.most() {
            let why = format!(
                "{} of {length} bytes, at most {} fit",
                section.name(),
                section.most()
            );
            return Err(io::Error::other(why).into());
        }
        let padding = vec![0; padding(length)];
        checksum.add(&padding);
        self.file.write_all(&padding)?;
        self.sections.push((length, checksum.value()));
        Ok(())
    }

    /// Writes the header and gives the file its name. Returns the file's mark.
    pub fn finish(self) -> io::Result<u128> {
        let header = encode(&self.sections);
        self.file.write_all_at(&header, 0)?;
        self.file.sync_data()?;
        fs::rename(&self.temporary, &self.path)?;
        Ok(mark(&header))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // After `finish` it has another name, and there is nothing to remove.
        let _ = fs::remove_file(&self.temporary);
    }
}

fn encode(sections: &[(u64, u128)]) -> [u8; HEADER] {
    let mut bytes = [
        &MAGIC[..],
        &VERSION.to_le_bytes(),
        &(sections.len() as u32).to_le_bytes(),
    ]
    .concat();
    for (length, checksum) in sections {
        bytes.extend(length.to_le_bytes());
        bytes.extend(checksum.to_le_bytes());
    }
    let mut header = [0; HEADER];
    header[..bytes.len()].copy_from_slice(&bytes);
    let seal = Checksum::of(&header[..SEAL]).to_le_bytes();
    header[SEAL..].copy_from_slice(&seal);
    header
}

/// Tells files apart: it follows from every byte of them.
fn mark(header: &[u8; HEADER]) -> u128 {
    let mut seal = [0; 16];
    seal.copy_from_slice(&header[SEAL..]);
    u128::from_le_bytes(seal)
}

/// An open file whose header is sound.
#[derive(Debug)]
pub(crate) struct Reader {
    pub file: File,
    pub mark: u128,
    /// Start, length and checksum of each section.
    sections: Vec<(u64, u64, u128)>,
}

impl Reader {
    /// Opens a file, and reads its header. A file that another user could change while it is in use is refused.
    pub fn open(path: &Path) -> Result<Reader, Fault> {
        // Not blocked by a pipe that has this name.
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)?;
        let meta = file.metadata()?;
        // SAFETY: the call takes nothing and cannot fail.
        let user = unsafe { libc::geteuid() };
        if !meta.is_file() {
            return refused("it is no file");
        }
        if meta.uid() != user || meta.mode() & 0o022 != 0 {
            return refused(format!(
                "another user could change it (owner {}, mode {:o}), want this user's own with mode 600",
                meta.uid(),
                meta.mode() & 0o777
            ));
        }
        let mut header = [0; HEADER];
        if meta.len() < PAGE {
            return refused(format!("it has {} bytes, want at least {PAGE}", meta.len()));
        }
        file.read_exact_at(&mut header, 0)?;
        let sections = decode(&header).map_err(Fault::Refused)?;
        let end = sections
            .last()
            .map_or(PAGE, |(start, length, _)| (start + length).next_multiple_of(PAGE));
        if meta.len() != end {
            return refused(format!(
                "it has {} bytes, want {end}: it is cut or damaged",
                meta.len()
            ));
        }
        Ok(Reader {
            file,
            mark: mark(&header),
            sections,
        })
    }

    /// A section's bytes, once they fit their checksum.
    pub fn read(&self, section: Section) -> Result<Vec<u8>, Fault> {
        let (start, length, wanted) = self.sections[section as usize];
        let mut bytes = vec![0; length.next_multiple_of(PAGE) as usize];
        self.file.read_exact_at(&mut bytes, start)?;
        if Checksum::of(&bytes) != wanted {
            return damaged(section);
        }
        bytes.truncate(length as usize);
        Ok(bytes)
    }

    /// Holds every section against its checksum, in pieces: they may be large.
    pub fn check(&self) -> Result<(), Fault> {
        let mut bytes = vec![0; CHUNK];
        for section in Section::ALL {
            let (start, length, wanted) = self.sections[section as usize];
            let (mut at, end) = (start, start + length.next_multiple_of(PAGE));
            let mut checksum = Checksum::default();
            while at < end {
                let piece = &mut bytes[..CHUNK.min((end - at) as usize)];
                self.file.read_exact_at(piece, at)?;
                checksum.add(piece);
                at += piece.len() as u64;
            }
            if checksum.value() != wanted {
                return damaged(section);
            }
        }
        Ok(())
    }

    /// Start and length of a section.
    pub fn place(&self, section: Section) -> (u64, u64) {
        let (start, length, _) = self.sections[section as usize];
        (start, length)
    }
}

fn damaged<T>(section: Section) -> Result<T, Fault> {
    refused(format!("its section {} is damaged", section.name()))
}

fn decode(header: &[u8; HEADER]) -> Result<Vec<(u64, u64, u128)>, String> {
    let number = |at: usize| {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&header[at..at + 4]);
        u32::from_le_bytes(bytes)
    };
    if header[..8] != MAGIC {
        return Err("it is no snapshot".into());
    }
    // Before the seal: another version may have it elsewhere.
    if number(8) != VERSION {
        return Err(format!(
            "its format has the version {}, want {VERSION}",
            number(8)
        ));
    }
    if Checksum::of(&header[..SEAL]) != mark(header) {
        return Err("its header is damaged".into());
    }
    if number(12) as usize != Section::ALL.len() {
        return Err(format!(
            "it has {} sections, want {}",
            number(12),
            Section::ALL.len()
        ));
    }
    let mut start = PAGE;
    let mut sections = Vec::new();
    for (i, section) in Section::ALL.into_iter().enumerate() {
        let (mut length, mut checksum) = ([0; 8], [0; 16]);
        let at = 16 + 24 * i;
        length.copy_from_slice(&header[at..at + 8]);
        checksum.copy_from_slice(&header[at + 8..at + 24]);
        let length = u64::from_le_bytes(length);
        if length > section.most() {
            return Err(format!(
                "its section {} has {length} bytes, want at most {}",
                section.name(),
                section.most()
            ));
        }
        sections.push((start, length, u128::from_le_bytes(checksum)));
        start += length.next_multiple_of(PAGE);
    }
    Ok(sections)
}
