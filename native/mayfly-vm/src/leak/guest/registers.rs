//! The planter's last act, with a secret in every register that ring 3 can write; and what they hold when a request begins.

use std::arch::asm;

use super::calls::Shared;

/// Integer registers in the order RAX RBX RCX RDX RSI RDI RBP RSP R8 to R15.
pub static GENERAL: Shared<[u64; 16]> = Shared::new([0; 16]);
/// DS, ES, FS, GS.
pub static SELECTORS: Shared<[u16; 4]> = Shared::new([0; 4]);

/// An XSAVE image; AMX, the largest component, ends at 11 KiB.
#[repr(C, align(64))]
pub struct Area([u8; 16384]);

/// All vector registers as the request found them.
pub static AREA: Shared<Area> = Shared::new(Area([0; 16384]));

/// What the last act loads.
#[repr(C, align(64))]
pub struct Load {
    /// ZMM0 to ZMM31: XMM, upper half of YMM, upper half of ZMM.
    pub vectors: [[u64; 8]; 32],
    /// K0 to K7.
    pub masks: [u64; 8],
    /// MM0 to MM7.
    pub mmx: [u64; 8],
    /// FS and GS.
    pub bases: [u64; 2],
}

/// See [`Load`].
pub static LOAD: Shared<Load> = Shared::new(Load {
    vectors: [[0; 8]; 32],
    masks: [0; 8],
    mmx: [0; 8],
    bases: [0; 2],
});
/// What the waiting thread holds: RBX, RBP, R12 to R15, then XMM0 to XMM15.
pub static WAITING: Shared<[u64; 38]> = Shared::new([0; 38]);
/// A whole answer: a head alone.
pub static ANSWER: Shared<[u8; 16]> = Shared::new([0; 16]);

/// A segment that ring 3 may load and no program does: the code segment here, the data segment of Linux's own table under PVM.
const SELECTOR: u16 = 0x2b;
/// Another rounding than usual, some flags raised, no exception unmasked.
static MXCSR: u32 = 0x7f95;
/// Another rounding than usual.
static CONTROL_WORD: u16 = 0x0f7f;

impl Area {
    /// FCW and MXCSR.
    pub fn control(&self) -> (u16, u32) {
        let b = &self.0;
        (
            u16::from_le_bytes([b[0], b[1]]),
            u32::from_le_bytes([b[24], b[25], b[26], b[27]]),
        )
    }
}

/// One line of assembly for each of the integer registers and its place in [`GENERAL`], RSP last: nothing can be loaded by it.
macro_rules! each_general {
    ($line:ident) => {
        each_general!(
            $line "rax" 0 "rbx" 8 "rcx" 16 "rdx" 24 "rsi" 32 "rdi" 40 "rbp" 48 "r8" 64 "r9" 72 "r10" 80 "r11" 88 "r12" 96 "r13" 104
            "r14" 112 "r15" 120 "rsp" 56
        )
    };
    (load $($register:literal $at:literal)+) => { concat!($("mov ", $register, ", [rip + {g} + ", $at, "]\n"),+) };
    (store $($register:literal $at:literal)+) => { concat!($("mov [rip + {g} + ", $at, "], ", $register, "\n"),+) };
}

/// The same for the segment registers: loaded from AX, stored to [`SELECTORS`].
macro_rules! each_selector {
    ($line:ident) => { each_selector!($line "ds" 0 "es" 2 "fs" 4 "gs" 6) };
    (load $($register:literal $at:literal)+) => { concat!($("mov ", $register, ", ax\n"),+) };
    (store $($register:literal $at:literal)+) => { concat!($("mov word ptr [rip + {s} + ", $at, "], ", $register, "\n"),+) };
}

/// A line for each number of a range, which takes the place of `\n` in it.
macro_rules! numbered {
    (0..8, $line:literal) => {
        numbered!("0,1,2,3,4,5,6,7", $line)
    };
    (0..16, $line:literal) => {
        numbered!("0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15", $line)
    };
    (0..32, $line:literal) => {
        concat!(numbered!(0..16, $line), "\n", numbered!(16..32, $line))
    };
    (12..16, $line:literal) => {
        numbered!("12,13,14,15", $line)
    };
    (16..32, $line:literal) => {
        numbered!("16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31", $line)
    };
    ($numbers:literal, $line:literal) => {
        concat!(".irp n, ", $numbers, "\n", $line, "\n.endr")
    };
}

/// `read(0, into, 16)`, and before anything else all registers go to memory.
pub fn read_head(into: *mut u8) -> i64 {
    let got: i64;
    // SAFETY: the call writes at most 16 bytes to `into`; the statics have room for what is stored (XSAVE: see `Area`, which is
    // aligned). All registers that change are named.
    unsafe {
        asm!(
            "syscall",
            each_general!(store),
            each_selector!(store),
            "mov eax, -1",
            "mov edx, -1",
            "xsave64 [rip + {x}]",
            "mov rax, [rip + {g}]",
            g = sym GENERAL, s = sym SELECTORS, x = sym AREA,
            inlateout("rax") 0_i64 => got,
            inlateout("rdx") 16_u64 => _,
            in("rdi") 0_u64, in("rsi") into,
            lateout("rcx") _, lateout("r11") _,
        );
    }
    got
}

/// Waits for the futex at `address` for ever, with [`WAITING`] in the registers.
pub fn wait(address: u64) -> ! {
    const WAIT_BITSET_PRIVATE: u64 = 9 | 128;
    // SAFETY: nothing runs on this stack any more, so every register may change.
    unsafe {
        asm!(
            numbered!(0..16, r"movdqu xmm\n, [rax + 48 + 16 * \n]"),
            "mov rbx, [rax]",
            "mov rbp, [rax + 8]",
            numbered!(12..16, r"mov r\n, [rax + 8 * (\n - 10)]"),
            "mov eax, 202",
            "syscall",
            "ud2",
            in("rax") WAITING.at(), in("rdi") address, in("rsi") WAIT_BITSET_PRIVATE, in("rdx") 0_u64, in("r10") 0_u64,
            in("r8") 0_u64, in("r9") u64::from(u32::MAX),
            options(noreturn),
        )
    }
}

/// Loads everything and ends the request: `ending` is [`super::super::protocol::Ending`]. `level` says which vector registers the
/// CPU has, `fsgsbase` whether it may write the bases itself; `page` is touched just before, and faults.
#[inline(never)]
pub fn finish(level: u64, fsgsbase: bool, ending: u64, page: u64) -> ! {
    // The code is in memory before the page faults: no other fault may follow.
    for at in [0, 1024, 2048, 3072] {
        // SAFETY: the program's text goes on behind this function, or the first read alone counts.
        unsafe { (finish as *const () as *const u8).add(at).read_volatile() };
    }
    // SAFETY: nothing runs on this stack any more; `LOAD` is aligned for 64-byte loads. The registers of a level exist.
    unsafe {
        asm!(
            "fldcw [rip + {cw}]",
            numbered!(0..8, r"movq mm\n, [rsi + 2112 + 8 * \n]"),
            "ldmxcsr [rip + {mx}]",
            "cmp rcx, 2",
            "je 3f",
            "jb 4f",
            numbered!(0..32, r"vmovdqa64 zmm\n, [rsi + 64 * \n]"),
            numbered!(0..8, r"kmovq k\n, [rsi + 2048 + 8 * \n]"),
            "jmp 5f",
            "3:",
            numbered!(0..16, r"vmovdqa ymm\n, [rsi + 64 * \n]"),
            "jmp 5f",
            "4:",
            numbered!(0..16, r"movdqa xmm\n, [rsi + 64 * \n]"),
            "5:",
            // Another selector than usual in each, read back before the machine is left.
            "mov eax, {selector}",
            each_selector!(load),
            each_selector!(store),
            "mov r12, [rsi + 2176]",
            "mov r13, [rsi + 2184]",
            "test r8, r8",
            "jz 6f",
            "wrfsbase r12",
            "wrgsbase r13",
            "jmp 7f",
            // arch_prctl(ARCH_SET_FS), arch_prctl(ARCH_SET_GS)
            "6:",
            "mov eax, 158", "mov edi, 0x1002", "mov rsi, r12", "syscall",
            "mov eax, 158", "mov edi, 0x1001", "mov rsi, r13", "syscall",
            "7:",
            // KVM holds its translation now, whatever was flushed since it got another frame.
            "mov rax, [rip + {remapped}]",
            "mov al, [rax]",
            "mov al, [r10]",
            // DF and ID.
            "pushfq",
            "or qword ptr [rsp], 0x200400",
            "popfq",
            "cmp r9, 1",
            "je 8f",
            "ja 9f",
            each_general!(load),
            "ud2",
            "8:",
            each_general!(load),
            "20:",
            "pause",
            "jmp 20b",
            "9:",
            each_general!(load),
            "mov eax, 1",
            "mov edi, 1",
            "lea rsi, [rip + {answer}]",
            "mov edx, 16",
            "syscall",
            "ud2",
            remapped = sym super::REMAPPED, selector = const SELECTOR, s = sym SELECTORS,
            g = sym GENERAL, cw = sym CONTROL_WORD, mx = sym MXCSR, answer = sym ANSWER,
            in("rsi") LOAD.at(), in("rcx") level, in("r8") u64::from(fsgsbase), in("r9") ending, in("r10") page,
            options(noreturn),
        )
    }
}

/// Executes what ring 3 may not. The machine answers with a fault, and the program dies.
pub fn forbidden(which: u8) {
    let table = [0_u8; 16];
    // SAFETY: none of them writes memory. One that went through would be a finding, and the request goes on.
    unsafe {
        match which {
            0 => asm!("mov dr0, rax", in("rax") 0x1234_5678_u64),
            1 => asm!("mov dr7, rax", in("rax") 0x400_u64),
            2 => asm!("wrmsr", in("ecx") 0xc000_0102_u32, in("eax") 0x1234_5678_u32, in("edx") 0),
            3 => asm!("swapgs"),
            4 => asm!("xsetbv", in("ecx") 0, in("eax") 3, in("edx") 0),
            5 => asm!("mov cr3, rax", in("rax") 0_u64),
            6 => asm!("wrpkru", in("eax") 0x5555_5554_u32, in("ecx") 0, in("edx") 0),
            _ => asm!("lgdt [{}]", in(reg) &raw const table),
        }
    }
}
