//! Starting a program: its segments, its interpreter, the vDSO, and the first stack with arguments, environment and auxiliary vector.

use std::fmt;

use crate::errno::Errno;
use crate::fs::granted::Below;
use crate::fs::host_file::HostFile;
use crate::fs::vfs::ROOT;
use crate::image::elf::{self, ElfError, Program};
use crate::image::vdso;
use crate::kernel::Kernel;
use crate::machine::{Machine, PAGE, Protection, Registers, USER_END};
use crate::mem::space::{Access, Place, STACK_BYTES, STACK_TOP, Wanted};
use crate::mem::vma::{Purpose, Source};
use crate::task::process::UID;
use crate::task::signal::{FIXED_FLAGS, FRAME_BYTES};

/// Where a program goes that may be loaded anywhere.
const PROGRAM_BASE: u64 = 0x5555_5555_4000;
/// Arguments and environment together, in bytes.
const STRINGS_MAX: usize = 1 << 20;

/// What to start.
#[derive(Clone, Debug, Default)]
pub struct Exec {
    /// The program's path in the guest.
    pub path: String,
    /// Arguments, the program's name first.
    pub arguments: Vec<String>,
    /// `NAME=value`.
    pub environment: Vec<String>,
    /// AT_HWCAP: EDX of CPUID leaf 1.
    pub hwcap: u64,
    /// AT_HWCAP2: bit 1 when ring 3 may use RDFSBASE and its like.
    pub hwcap2: u64,
}

/// Why a program did not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecError {
    /// The file at this path cannot be used.
    File(String, Errno),
    /// The file at this path is no program for this machine.
    Format(String, ElfError),
    /// Its segments or its stack do not fit.
    Memory(Errno),
    /// Arguments and environment are longer than this many bytes together, or hold a NUL.
    Arguments(usize),
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, errno) => write!(
                f,
                "Starting a program: {path} gives {errno:?}, wanted a mounted file"
            ),
            Self::Format(path, error) => write!(f, "Starting a program: {path}: {error}"),
            Self::Memory(errno) => write!(
                f,
                "Starting a program: mapping it gives {errno:?}, wanted room for it"
            ),
            Self::Arguments(limit) => {
                write!(
                    f,
                    "Starting a program: arguments over {limit} bytes or with a NUL, wanted fewer and none"
                )
            }
        }
    }
}

impl std::error::Error for ExecError {}

impl Kernel {
    fn program_file(&self, path: &str) -> Result<(HostFile, usize), ExecError> {
        let file = |errno| ExecError::File(path.to_owned(), errno);
        let found = self
            .vfs
            .resolve_from(&self.folder(), path.as_bytes(), true)
            .map_err(file)?;
        let node = found.node.ok_or(file(Errno::ENOENT))?;
        Ok((self.vfs.mappable(node).map_err(file)?, node))
    }

    /// Loads a program into an empty guest and sets the registers to its first instruction.
    ///
    /// # Errors
    /// What is wrong with the file, its interpreter, the room or the arguments; the guest is of no use then.
    pub fn exec<M: Machine>(&mut self, m: &mut M, what: &Exec) -> Result<(), ExecError> {
        let strings = what.arguments.iter().chain(&what.environment);
        let length: usize = strings.clone().map(|text| text.len() + 1).sum();
        if length > STRINGS_MAX || strings.clone().any(|text| text.contains('\0')) {
            return Err(ExecError::Arguments(STRINGS_MAX));
        }
        let (file, node) = self.program_file(&what.path)?;
        let first = |entry: u64, base: u64, path: &str| {
            let first = entry.checked_add(base).filter(|&first| first < USER_END);
            first.ok_or_else(|| ExecError::File(path.to_owned(), Errno::ENOEXEC))
        };
        let format = |path: &str| {
            let path = path.to_owned();
            move |error| ExecError::Format(path.clone(), error)
        };
        let program = elf::parse(&file.part(0..u64::MAX)).map_err(format(&what.path))?;
        let base = if program.relocatable { PROGRAM_BASE } else { 0 };
        self.load(m, &program, &file, base, &what.path, node)?;
        let (mut entry, mut interpreter_base) = (first(program.entry, base, &what.path)?, 0);
        if let Some(path) = &program.interpreter {
            let path = String::from_utf8_lossy(path).into_owned();
            let (file, node) = self.program_file(&path)?;
            let interpreter = elf::parse(&file.part(0..u64::MAX)).map_err(format(&path))?;
            // As high as the vDSO leaves room.
            let (start, end) = interpreter.extent();
            interpreter_base = vdso::CLOCK_PAGE
                .checked_sub(end)
                .map(|base| base & !0xffff)
                .filter(|base| interpreter.relocatable && base.checked_add(start).is_some())
                .ok_or_else(|| ExecError::File(path.clone(), Errno::ENOEXEC))?;
            self.load(m, &interpreter, &file, interpreter_base, &path, node)?;
            entry = first(interpreter.entry, interpreter_base, &path)?;
        }
        self.map_vdso(m).map_err(ExecError::Memory)?;
        self.space
            .set_heap((program.extent().1 + base).next_multiple_of(PAGE) + 16 * PAGE);

        let found = self
            .vfs
            .path_of(node)
            .unwrap_or_else(|_| what.path.clone().into_bytes());
        self.vfs
            .mount_link("/proc/self/exe", &String::from_utf8_lossy(&found));
        self.process.executable = what.path.clone().into_bytes();
        self.process.command_line = what
            .arguments
            .iter()
            .flat_map(|text| [text.as_bytes(), b"\0"].concat())
            .collect();
        let name = what.path.rsplit('/').next().unwrap_or_default().as_bytes();
        if let Some(thread) = self.thread_mut() {
            let length = name.len().min(15);
            thread.name[..length].copy_from_slice(&name[..length]);
        }
        let stack_pointer = self
            .build_stack(m, what, &program, base, interpreter_base)
            .map_err(ExecError::Memory)?;
        m.set_registers(&Registers {
            rip: entry,
            rsp: stack_pointer,
            rflags: FIXED_FLAGS,
            ..Registers::default()
        });
        m.set_fs_base(0);
        m.set_gs_base(0);
        Ok(())
    }

    fn load<M: Machine>(
        &mut self,
        m: &mut M,
        program: &Program,
        file: &HostFile,
        base: u64,
        path: &str,
        node: usize,
    ) -> Result<(), ExecError> {
        for segment in &program.segments {
            let inside = segment.address % PAGE;
            let start = base + segment.address - inside;
            let file_end = (inside + segment.file_bytes).next_multiple_of(PAGE);
            let end = (inside + segment.memory_bytes).next_multiple_of(PAGE);
            let wanted = |source| Wanted {
                protection: segment.protection,
                source,
                purpose: Purpose::General,
                shared: false,
            };
            if segment.file_bytes > 0 {
                let source = Source::File {
                    file: file.clone(),
                    offset: segment.offset - inside,
                    name: path.into(),
                    inode: node as u64 + 1,
                };
                self.space
                    .map(m, Place::FixedFree(start), file_end, wanted(source))
                    .map_err(ExecError::Memory)?;
                // The file goes on behind the segment; memory must not.
                let tail = base + segment.address + segment.file_bytes;
                if segment.memory_bytes > segment.file_bytes && tail < start + file_end {
                    let zeros = vec![0; (start + file_end - tail) as usize];
                    self.space.write(m, tail, &zeros).map_err(ExecError::Memory)?;
                }
            }
            let first = if segment.file_bytes > 0 { file_end } else { 0 };
            if end > first {
                self.space
                    .map(
                        m,
                        Place::FixedFree(start + first),
                        end - first,
                        wanted(Source::Anonymous),
                    )
                    .map_err(ExecError::Memory)?;
            }
        }
        Ok(())
    }

    fn map_vdso<M: Machine>(&mut self, m: &mut M) -> Result<(), Errno> {
        let image = Source::File {
            file: HostFile::new(vdso::image()),
            offset: 0,
            name: "[vdso]".into(),
            inode: 0,
        };
        let code = Wanted {
            protection: Protection::READ_EXECUTE,
            source: image,
            purpose: Purpose::Vdso,
            shared: false,
        };
        self.space.map(m, Place::FixedFree(vdso::IMAGE), PAGE, code)?;
        let page = Wanted {
            protection: Protection::READ,
            source: Source::Anonymous,
            purpose: Purpose::Vvar,
            shared: false,
        };
        self.space
            .map(m, Place::FixedFree(vdso::CLOCK_PAGE), PAGE, page)?;
        self.space
            .fault(m, vdso::CLOCK_PAGE, Access::Read)
            .map_err(|_| Errno::ENOMEM)?;
        self.write_clock_page(m);
        Ok(())
    }

    /// Lays out the first stack, from the top: strings, random bytes, auxiliary vector, environment, arguments, their count.
    fn build_stack<M: Machine>(
        &mut self,
        m: &mut M,
        what: &Exec,
        program: &Program,
        base: u64,
        interpreter_base: u64,
    ) -> Result<u64, Errno> {
        let wanted = Wanted {
            protection: Protection::READ_WRITE,
            source: Source::Anonymous,
            purpose: Purpose::Stack,
            shared: false,
        };
        self.space
            .map(m, Place::FixedFree(STACK_TOP - STACK_BYTES), STACK_BYTES, wanted)?;
        let mut random = [0; 16];
        self.random.fill(&mut random);
        let mut top = STACK_TOP - 16;
        let mut push = |space: &crate::mem::space::AddressSpace, m: &mut M, bytes: &[u8]| {
            top -= bytes.len() as u64;
            space.write(m, top, bytes).map(|()| top)
        };
        let text = |text: &str| [text.as_bytes(), b"\0"].concat();
        let path = push(&self.space, m, &text(&what.path))?;
        let platform = push(&self.space, m, b"x86_64\0")?;
        let random = push(&self.space, m, &random)?;
        // As Linux has it: the first argument lies lowest, the others and the environment follow it without a gap.
        let mut pointers = |m: &mut M, texts: &[String]| -> Result<Vec<u64>, Errno> {
            let pushed = texts.iter().rev().map(|one| push(&self.space, m, &text(one)));
            let mut pointers = pushed.collect::<Result<Vec<_>, _>>()?;
            pointers.reverse();
            Ok(pointers)
        };
        let environment = pointers(m, &what.environment)?;
        let arguments = pointers(m, &what.arguments)?;
        let top = arguments
            .first()
            .or(environment.first())
            .copied()
            .unwrap_or(random);

        let headers = if program.headers_address == 0 {
            0
        } else {
            program.headers_address + base
        };
        let mut vector = Vec::new();
        m.save_vector_state(&mut vector);
        let auxiliary: [[u64; 2]; 21] = [
            [33, vdso::IMAGE],
            [16, what.hwcap],
            [6, PAGE],
            [17, 100],
            [3, headers],
            [4, 56],
            [5, program.header_count],
            [7, interpreter_base],
            [8, 0],
            [9, program.entry + base],
            [11, UID.into()],
            [12, UID.into()],
            [13, UID.into()],
            [14, UID.into()],
            [23, 0],
            [25, random],
            [26, what.hwcap2],
            [31, path],
            [15, platform],
            [51, (vector.len() + FRAME_BYTES + 1024) as u64],
            [0, 0],
        ];
        let mut words = vec![arguments.len() as u64];
        words.extend(arguments);
        words.push(0);
        words.extend(environment);
        words.push(0);
        words.extend(auxiliary.as_flattened());
        let pointer = (top - words.len() as u64 * 8) & !15;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.space.write(m, pointer, &bytes)?;
        self.process.auxiliary = auxiliary
            .as_flattened()
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        Ok(pointer)
    }

    /// The working directory, or the root when it is gone.
    pub(crate) fn folder(&self) -> Below {
        let node = self.process.folder;
        if self.vfs.is_directory(node) || self.vfs.is_granted(node) {
            let path = self.process.below.clone();
            Below { node, path }
        } else {
            Below {
                node: ROOT,
                path: Vec::new(),
            }
        }
    }
}
