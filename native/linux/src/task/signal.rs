//! Signals: dispositions, pending sets, and the frame that a handler finds on its stack.

use serde::{Deserialize, Serialize};

use crate::errno::Errno;
use crate::machine::Registers;

/// Signal numbers that the personality itself uses.
#[allow(missing_docs, reason = "the names are Linux's (signal(7))")]
pub mod number {
    pub const SIGILL: u32 = 4;
    pub const SIGTRAP: u32 = 5;
    pub const SIGBUS: u32 = 7;
    pub const SIGFPE: u32 = 8;
    pub const SIGKILL: u32 = 9;
    pub const SIGSEGV: u32 = 11;
    pub const SIGPIPE: u32 = 13;
    pub const SIGALRM: u32 = 14;
    pub const SIGCHLD: u32 = 17;
    pub const SIGCONT: u32 = 18;
    pub const SIGSTOP: u32 = 19;
    pub const SIGTTOU: u32 = 22;
    pub const SIGTSTP: u32 = 20;
    pub const SIGURG: u32 = 23;
    pub const SIGVTALRM: u32 = 26;
    pub const SIGPROF: u32 = 27;
    pub const SIGWINCH: u32 = 28;
}

/// Highest signal number.
pub const SIGNALS: u32 = 64;
/// `SA_SIGINFO` and so on.
const SA_RESTORER: u64 = 0x0400_0000;
/// `SA_ONSTACK`.
pub const SA_ONSTACK: u64 = 0x0800_0000;
/// `SA_RESTART`.
pub const SA_RESTART: u64 = 0x1000_0000;
/// `SA_NODEFER`.
pub const SA_NODEFER: u64 = 0x4000_0000;
/// `SA_RESETHAND`.
pub const SA_RESETHAND: u64 = 0x8000_0000;
/// Signals that cannot be blocked.
pub const UNBLOCKABLE: u64 = bit(number::SIGKILL) | bit(number::SIGSTOP);

/// The bit of a signal in a mask.
#[must_use]
pub const fn bit(signal: u32) -> u64 {
    1 << (signal - 1)
}

/// What a signal does that has no handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultAction {
    /// Ends the process.
    Terminate,
    /// Nothing. Stopping counts as this: nobody could continue the process.
    Ignore,
}

/// What a signal does by default.
#[must_use]
pub fn default_action(signal: u32) -> DefaultAction {
    use number::{SIGCHLD, SIGCONT, SIGSTOP, SIGTTOU, SIGURG, SIGWINCH};
    match signal {
        SIGCHLD | SIGCONT | SIGURG | SIGWINCH | SIGSTOP..=SIGTTOU => DefaultAction::Ignore,
        _ => DefaultAction::Terminate,
    }
}

/// A disposition, as `rt_sigaction` sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disposition {
    /// Handler's address; 0 is SIG_DFL, 1 is SIG_IGN.
    pub handler: u64,
    /// `SA_*`.
    pub flags: u64,
    /// Where the handler returns to.
    pub restorer: u64,
    /// Signals blocked while it runs.
    pub mask: u64,
}

impl Disposition {
    /// From the words of the kernel's `struct sigaction`.
    #[must_use]
    pub fn from_words([handler, flags, restorer, mask]: [u64; 4]) -> Self {
        Self {
            handler,
            flags,
            restorer,
            mask: mask & !UNBLOCKABLE,
        }
    }

    /// The words of the kernel's `struct sigaction`.
    #[must_use]
    pub fn words(self) -> [u64; 4] {
        [self.handler, self.flags, self.restorer, self.mask]
    }

    /// Whether a handler can return.
    #[must_use]
    pub fn has_restorer(self) -> bool {
        self.flags & SA_RESTORER != 0
    }
}

/// What a handler learns of its signal (`siginfo_t`, as far as it is used).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Info {
    /// Signal number.
    pub signal: u32,
    /// `si_errno`.
    pub errno: i32,
    /// `si_code`.
    pub code: i32,
    /// Address of a fault, or pid and uid of a sender.
    pub word: u64,
    /// `si_value` of a queued signal.
    pub value: u64,
}

/// Bytes of a `siginfo_t`.
pub const INFO_BYTES: usize = 128;

impl Info {
    /// A signal that the process sent to itself (`SI_USER` 0, `SI_TKILL` -6).
    #[must_use]
    pub fn sent(signal: u32, code: i32, pid: i32, uid: u32) -> Self {
        Self {
            signal,
            errno: 0,
            code,
            word: u64::from(pid.cast_unsigned()) | u64::from(uid) << 32,
            value: 0,
        }
    }

    /// The bytes of the `siginfo_t`.
    #[must_use]
    pub fn bytes(&self) -> [u8; INFO_BYTES] {
        let mut bytes = [0; INFO_BYTES];
        bytes[..4].copy_from_slice(&self.signal.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.errno.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.code.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.word.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.value.to_le_bytes());
        bytes
    }
}

/// Signals that wait to be delivered, one of each number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    set: u64,
    /// What is known of each; in order of arrival.
    infos: Vec<Info>,
}

impl Pending {
    /// The signals, as a mask.
    #[must_use]
    pub fn set(&self) -> u64 {
        self.set
    }

    /// What is known of each, in order of arrival.
    #[must_use]
    pub fn infos(&self) -> &[Info] {
        &self.infos
    }

    /// Adds a signal, unless one of its number waits.
    pub fn add(&mut self, info: Info) {
        if self.set & bit(info.signal) == 0 {
            self.set |= bit(info.signal);
            self.infos.push(info);
        }
    }

    /// Takes the lowest signal that is in `allowed`.
    pub fn take(&mut self, allowed: u64) -> Option<Info> {
        let chosen = self.set & allowed;
        if chosen == 0 {
            return None;
        }
        let signal = chosen.trailing_zeros() + 1;
        self.set &= !bit(signal);
        let at = self.infos.iter().position(|info| info.signal == signal)?;
        Some(self.infos.remove(at))
    }

    /// Drops a signal that is now ignored.
    pub fn discard(&mut self, signal: u32) {
        self.set &= !bit(signal);
        self.infos.retain(|info| info.signal != signal);
    }
}

/// An alternate signal stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AltStack {
    /// Lowest address.
    pub start: u64,
    /// Length in bytes; 0 when there is none.
    pub length: u64,
    /// Flags it was set with (`SS_AUTODISARM`).
    pub flags: u32,
}

impl AltStack {
    /// Whether the stack pointer is on it.
    #[must_use]
    pub fn holds(self, rsp: u64) -> bool {
        self.length != 0 && rsp > self.start && rsp - self.start <= self.length
    }

    /// `ss_flags` as the guest sees them.
    #[must_use]
    pub fn status(self, rsp: u64) -> u32 {
        match () {
            () if self.length == 0 => 2,
            () if self.holds(rsp) => 1 | self.flags,
            () => self.flags,
        }
    }

    /// The words of a `stack_t`.
    #[must_use]
    pub fn words(self, rsp: u64) -> [u64; 3] {
        [self.start, self.status(rsp).into(), self.length]
    }
}

/// Offset of the general registers in a frame: return address, then `uc_flags`, `uc_link`, `uc_stack`.
const CONTEXT: usize = 8 + 8 + 8 + 24;
const MASK: usize = CONTEXT + 256;
/// Offset of the `siginfo_t` in a frame.
pub const FRAME_INFO: usize = MASK + 8;
/// Offset of the `ucontext_t` in a frame.
pub const FRAME_CONTEXT: usize = 8;
/// Bytes of a frame, without the vector state above it.
pub const FRAME_BYTES: usize = FRAME_INFO + INFO_BYTES;
/// Vector state is kept, the stack segment too.
const UC_FLAGS: u64 = 7;
/// `FP_XSTATE_MAGIC1` and `FP_XSTATE_MAGIC2`: the vector state is more than the legacy 512 bytes.
const MAGIC1: u32 = 0x4650_5853;
const MAGIC2: u32 = 0x4650_5845;
/// Length of the legacy region and header of an XSAVE image.
const XSAVE_MIN: usize = 576;
/// User flags that a frame may set: CF PF AF ZF SF TF DF OF RF AC ID.
pub const USER_FLAGS: u64 = 0x25_0dd5 & !0x1_0000;
/// Flags that are always set in ring 3: the reserved bit 1 and IF.
pub const FIXED_FLAGS: u64 = 0x202;

/// What a frame keeps besides registers and vector state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// Where the handler returns to.
    pub restorer: u64,
    /// The alternate stack, as `stack_t` words.
    pub stack: [u64; 3],
    /// Trap number, error code and address of a fault.
    pub fault: [u64; 3],
    /// The signal mask to go back to.
    pub mask: u64,
    /// Address of the vector state.
    pub vector: u64,
}

fn put(frame: &mut [u8], at: usize, words: &[u64]) {
    for (index, word) in words.iter().enumerate() {
        frame[at + index * 8..at + index * 8 + 8].copy_from_slice(&word.to_le_bytes());
    }
}

fn word(frame: &[u8; FRAME_BYTES], at: usize) -> u64 {
    frame[at..]
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The bytes of a frame (`struct rt_sigframe`).
#[must_use]
pub fn encode_frame(head: &FrameHead, registers: &Registers, info: &Info) -> [u8; FRAME_BYTES] {
    let r = registers;
    let [trap, error, address] = head.fault;
    let mut frame = [0; FRAME_BYTES];
    put(&mut frame, 0, &[head.restorer, UC_FLAGS, 0]);
    put(&mut frame, 24, &head.stack);
    put(
        &mut frame,
        CONTEXT,
        &[r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15],
    );
    put(
        &mut frame,
        CONTEXT + 64,
        &[
            r.rdi, r.rsi, r.rbp, r.rbx, r.rdx, r.rax, r.rcx, r.rsp, r.rip, r.rflags,
        ],
    );
    // cs, gs, fs, ss: the selectors of ring 3, as Linux shows them.
    put(
        &mut frame,
        CONTEXT + 144,
        &[
            0x002b_0000_0000_0033,
            error,
            trap,
            head.mask,
            address,
            head.vector,
        ],
    );
    put(&mut frame, MASK, &[head.mask]);
    frame[FRAME_INFO..].copy_from_slice(&info.bytes());
    frame
}

/// Reads a frame back: registers (flags and addresses not yet checked), mask, alternate stack words and address of the vector state.
#[must_use]
pub fn decode_frame(frame: &[u8; FRAME_BYTES]) -> (Registers, u64, [u64; 3], u64) {
    let at = |index: usize| word(frame, CONTEXT + index * 8);
    let registers = Registers {
        r8: at(0),
        r9: at(1),
        r10: at(2),
        r11: at(3),
        r12: at(4),
        r13: at(5),
        r14: at(6),
        r15: at(7),
        rdi: at(8),
        rsi: at(9),
        rbp: at(10),
        rbx: at(11),
        rdx: at(12),
        rax: at(13),
        rcx: at(14),
        rsp: at(15),
        rip: at(16),
        rflags: at(17) & USER_FLAGS | FIXED_FLAGS,
    };
    (
        registers,
        word(frame, MASK),
        [word(frame, 24), word(frame, 32), word(frame, 40)],
        at(23),
    )
}

/// Marks an XSAVE image for the guest: how long it is, and the word behind it.
pub fn mark_vector(image: &mut Vec<u8>) {
    let length = image.len() as u32;
    if image.len() < XSAVE_MIN {
        return;
    }
    let features: [u8; 8] = image[512..].first_chunk().copied().unwrap_or_default();
    image[464..512].fill(0);
    image[464..468].copy_from_slice(&MAGIC1.to_le_bytes());
    image[468..472].copy_from_slice(&(length + 4).to_le_bytes());
    image[472..480].copy_from_slice(&(u64::from_le_bytes(features) | 3).to_le_bytes());
    image[480..484].copy_from_slice(&length.to_le_bytes());
    image.extend(MAGIC2.to_le_bytes());
}

/// Makes an XSAVE image that the guest may have edited fit for loading: marks and reserved bytes of its header cleared.
///
/// # Errors
/// EFAULT when the image is too short to be one.
pub fn unmark_vector(image: &mut [u8]) -> Result<(), Errno> {
    if image.len() < XSAVE_MIN {
        return Err(Errno::EFAULT);
    }
    image[464..512].fill(0);
    image[520..XSAVE_MIN].fill(0);
    Ok(())
}

/// The bits of MXCSR that this processor has, by an image that it saved (Intel SDM volume 1, 11.6.6).
pub fn mxcsr_mask(saved: &[u8]) -> u32 {
    match mxcsr_word(saved, 28) {
        0 => 0xffbf,
        mask => mask,
    }
}

/// Whether the image's MXCSR has a bit that is not in `mask`: `xrstor` refuses it, also where the image says that it holds no
/// vector registers, which KVM does not look at then.
pub fn has_reserved_mxcsr(image: &[u8], mask: u32) -> bool {
    mxcsr_word(image, 24) & !mask != 0
}

fn mxcsr_word(image: &[u8], at: usize) -> u32 {
    image
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mxcsr_has_the_bits_that_the_processor_has() {
        let mut image = [0; XSAVE_MIN];
        assert_eq!(mxcsr_mask(&image), 0xffbf);
        image[28..32].copy_from_slice(&0x2_ffff_u32.to_le_bytes());
        assert_eq!(mxcsr_mask(&image), 0x2_ffff);
        for (mxcsr, reserved) in [
            (0x1f80_u32, false),
            (0x2_ffff, false),
            (0x1_1f80, true),
            (0x4_1f80, true),
        ] {
            image[24..28].copy_from_slice(&mxcsr.to_le_bytes());
            assert_eq!(has_reserved_mxcsr(&image, 0x2_ffff), reserved, "{mxcsr:x}");
        }
    }

    #[test]
    fn frame_survives_encode_and_decode_with_only_user_flags() {
        let mut registers = Registers {
            r8: 1,
            r15: 2,
            rdi: 3,
            rsp: 4,
            rip: 5,
            rax: 6,
            rcx: 7,
            ..Registers::default()
        };
        registers.rflags = u64::MAX;
        let head = FrameHead {
            restorer: 9,
            stack: [1, 2, 3],
            fault: [14, 6, 0x1234],
            mask: 0xff,
            vector: 0x7000,
        };
        let info = Info {
            signal: 11,
            code: 1,
            word: 0x1234,
            ..Info::default()
        };
        let frame = encode_frame(&head, &registers, &info);
        let (found, mask, stack, vector) = decode_frame(&frame);
        registers.rflags = 0x24_0fd7;
        assert_eq!((found, mask, stack, vector), (registers, 0xff, [1, 2, 3], 0x7000));
        assert_eq!(frame[..8], 9_u64.to_le_bytes());
        assert_eq!(frame[FRAME_INFO..FRAME_INFO + 4], 11_u32.to_le_bytes());
        assert_eq!(FRAME_BYTES, 440);
        // Offsets that <sys/ucontext.h> shows to C: gregs[REG_RIP], gregs[REG_CR2], fpregs, uc_sigmask.
        assert_eq!(word(&frame, FRAME_CONTEXT + 40 + 16 * 8), 5);
        assert_eq!(word(&frame, FRAME_CONTEXT + 40 + 22 * 8), 0x1234);
        assert_eq!(word(&frame, FRAME_CONTEXT + 224), 0x7000);
        assert_eq!(word(&frame, FRAME_CONTEXT + 296), 0xff);
    }

    #[test]
    fn pending_gives_the_lowest_allowed_and_each_once() {
        let mut pending = Pending::default();
        for signal in [15, 2, 15, 34] {
            pending.add(Info {
                signal,
                ..Info::default()
            });
        }
        assert_eq!(pending.take(!bit(2)).map(|info| info.signal), Some(15));
        assert_eq!(pending.take(bit(15)), None);
        assert_eq!(pending.take(u64::MAX).map(|info| info.signal), Some(2));
        pending.discard(34);
        assert_eq!(pending, Pending::default());
    }

    #[test]
    fn vector_marks_are_put_and_removed() {
        let mut image = vec![0xaa; 832];
        mark_vector(&mut image);
        assert_eq!((image.len(), &image[832..]), (836, &MAGIC2.to_le_bytes()[..]));
        image.truncate(832);
        unmark_vector(&mut image).expect("long enough");
        assert!(image[464..512].iter().all(|&byte| byte == 0));
        assert_eq!(unmark_vector(&mut [0; 100]), Err(Errno::EFAULT));
    }
}
