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

/// `read(0, into, 16)`, and before anything else all registers go to memory.
pub fn read_head(into: *mut u8) -> i64 {
    let got: i64;
    // SAFETY: the call writes at most 16 bytes to `into`; the statics have room for what is stored (XSAVE: see `Area`, which is
    // aligned). All registers that change are named.
    unsafe {
        asm!(
            "syscall",
            "mov [rip + {g}], rax",
            "mov [rip + {g} + 8], rbx",
            "mov [rip + {g} + 16], rcx",
            "mov [rip + {g} + 24], rdx",
            "mov [rip + {g} + 32], rsi",
            "mov [rip + {g} + 40], rdi",
            "mov [rip + {g} + 48], rbp",
            "mov [rip + {g} + 56], rsp",
            "mov [rip + {g} + 64], r8",
            "mov [rip + {g} + 72], r9",
            "mov [rip + {g} + 80], r10",
            "mov [rip + {g} + 88], r11",
            "mov [rip + {g} + 96], r12",
            "mov [rip + {g} + 104], r13",
            "mov [rip + {g} + 112], r14",
            "mov [rip + {g} + 120], r15",
            "mov word ptr [rip + {s}], ds",
            "mov word ptr [rip + {s} + 2], es",
            "mov word ptr [rip + {s} + 4], fs",
            "mov word ptr [rip + {s} + 6], gs",
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
            "movdqu xmm0, [rax + 48]", "movdqu xmm1, [rax + 64]", "movdqu xmm2, [rax + 80]", "movdqu xmm3, [rax + 96]",
            "movdqu xmm4, [rax + 112]", "movdqu xmm5, [rax + 128]", "movdqu xmm6, [rax + 144]", "movdqu xmm7, [rax + 160]",
            "movdqu xmm8, [rax + 176]", "movdqu xmm9, [rax + 192]", "movdqu xmm10, [rax + 208]", "movdqu xmm11, [rax + 224]",
            "movdqu xmm12, [rax + 240]", "movdqu xmm13, [rax + 256]", "movdqu xmm14, [rax + 272]", "movdqu xmm15, [rax + 288]",
            "mov rbx, [rax]",
            "mov rbp, [rax + 8]",
            "mov r12, [rax + 16]",
            "mov r13, [rax + 24]",
            "mov r14, [rax + 32]",
            "mov r15, [rax + 40]",
            "mov eax, 202",
            "syscall",
            "ud2",
            in("rax") WAITING.at(), in("rdi") address, in("rsi") WAIT_BITSET_PRIVATE, in("rdx") 0_u64, in("r10") 0_u64,
            in("r8") 0_u64, in("r9") u64::from(u32::MAX),
            options(noreturn),
        )
    }
}

/// The integer registers, RSP last.
macro_rules! load_general {
    () => {
        "mov rax, [rip + {g}]
         mov rbx, [rip + {g} + 8]
         mov rcx, [rip + {g} + 16]
         mov rdx, [rip + {g} + 24]
         mov rsi, [rip + {g} + 32]
         mov rdi, [rip + {g} + 40]
         mov rbp, [rip + {g} + 48]
         mov r8, [rip + {g} + 64]
         mov r9, [rip + {g} + 72]
         mov r10, [rip + {g} + 80]
         mov r11, [rip + {g} + 88]
         mov r12, [rip + {g} + 96]
         mov r13, [rip + {g} + 104]
         mov r14, [rip + {g} + 112]
         mov r15, [rip + {g} + 120]
         mov rsp, [rip + {g} + 56]"
    };
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
            "movq mm0, [rsi + 2112]", "movq mm1, [rsi + 2120]", "movq mm2, [rsi + 2128]", "movq mm3, [rsi + 2136]",
            "movq mm4, [rsi + 2144]", "movq mm5, [rsi + 2152]", "movq mm6, [rsi + 2160]", "movq mm7, [rsi + 2168]",
            "ldmxcsr [rip + {mx}]",
            "cmp rcx, 2",
            "je 3f",
            "jb 4f",
            "vmovdqa64 zmm0, [rsi]", "vmovdqa64 zmm1, [rsi + 64]", "vmovdqa64 zmm2, [rsi + 128]",
            "vmovdqa64 zmm3, [rsi + 192]", "vmovdqa64 zmm4, [rsi + 256]", "vmovdqa64 zmm5, [rsi + 320]",
            "vmovdqa64 zmm6, [rsi + 384]", "vmovdqa64 zmm7, [rsi + 448]", "vmovdqa64 zmm8, [rsi + 512]",
            "vmovdqa64 zmm9, [rsi + 576]", "vmovdqa64 zmm10, [rsi + 640]", "vmovdqa64 zmm11, [rsi + 704]",
            "vmovdqa64 zmm12, [rsi + 768]", "vmovdqa64 zmm13, [rsi + 832]", "vmovdqa64 zmm14, [rsi + 896]",
            "vmovdqa64 zmm15, [rsi + 960]", "vmovdqa64 zmm16, [rsi + 1024]", "vmovdqa64 zmm17, [rsi + 1088]",
            "vmovdqa64 zmm18, [rsi + 1152]", "vmovdqa64 zmm19, [rsi + 1216]", "vmovdqa64 zmm20, [rsi + 1280]",
            "vmovdqa64 zmm21, [rsi + 1344]", "vmovdqa64 zmm22, [rsi + 1408]", "vmovdqa64 zmm23, [rsi + 1472]",
            "vmovdqa64 zmm24, [rsi + 1536]", "vmovdqa64 zmm25, [rsi + 1600]", "vmovdqa64 zmm26, [rsi + 1664]",
            "vmovdqa64 zmm27, [rsi + 1728]", "vmovdqa64 zmm28, [rsi + 1792]", "vmovdqa64 zmm29, [rsi + 1856]",
            "vmovdqa64 zmm30, [rsi + 1920]", "vmovdqa64 zmm31, [rsi + 1984]",
            "kmovq k0, [rsi + 2048]", "kmovq k1, [rsi + 2056]", "kmovq k2, [rsi + 2064]", "kmovq k3, [rsi + 2072]",
            "kmovq k4, [rsi + 2080]", "kmovq k5, [rsi + 2088]", "kmovq k6, [rsi + 2096]", "kmovq k7, [rsi + 2104]",
            "jmp 5f",
            "3:",
            "vmovdqa ymm0, [rsi]", "vmovdqa ymm1, [rsi + 64]", "vmovdqa ymm2, [rsi + 128]", "vmovdqa ymm3, [rsi + 192]",
            "vmovdqa ymm4, [rsi + 256]", "vmovdqa ymm5, [rsi + 320]", "vmovdqa ymm6, [rsi + 384]",
            "vmovdqa ymm7, [rsi + 448]", "vmovdqa ymm8, [rsi + 512]", "vmovdqa ymm9, [rsi + 576]",
            "vmovdqa ymm10, [rsi + 640]", "vmovdqa ymm11, [rsi + 704]", "vmovdqa ymm12, [rsi + 768]",
            "vmovdqa ymm13, [rsi + 832]", "vmovdqa ymm14, [rsi + 896]", "vmovdqa ymm15, [rsi + 960]",
            "jmp 5f",
            "4:",
            "movdqa xmm0, [rsi]", "movdqa xmm1, [rsi + 64]", "movdqa xmm2, [rsi + 128]", "movdqa xmm3, [rsi + 192]",
            "movdqa xmm4, [rsi + 256]", "movdqa xmm5, [rsi + 320]", "movdqa xmm6, [rsi + 384]", "movdqa xmm7, [rsi + 448]",
            "movdqa xmm8, [rsi + 512]", "movdqa xmm9, [rsi + 576]", "movdqa xmm10, [rsi + 640]",
            "movdqa xmm11, [rsi + 704]", "movdqa xmm12, [rsi + 768]", "movdqa xmm13, [rsi + 832]",
            "movdqa xmm14, [rsi + 896]", "movdqa xmm15, [rsi + 960]",
            "5:",
            // Another selector than usual in each, read back before the machine is left.
            "mov eax, {selector}",
            "mov ds, ax",
            "mov es, ax",
            "mov fs, ax",
            "mov gs, ax",
            "mov word ptr [rip + {s}], ds",
            "mov word ptr [rip + {s} + 2], es",
            "mov word ptr [rip + {s} + 4], fs",
            "mov word ptr [rip + {s} + 6], gs",
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
            load_general!(),
            "ud2",
            "8:",
            load_general!(),
            "20:",
            "pause",
            "jmp 20b",
            "9:",
            load_general!(),
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
