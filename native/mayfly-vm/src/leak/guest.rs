//! The planter: this very binary, run again in a machine. It waits for requests as an isolated program does.

mod calls;
mod look;
mod plant;
mod registers;

use std::process::ExitCode;

use mayfly_linux::syscall::number as n;
use mayfly_wire::{Head, Kind, Limits};

use super::places::WORDS;
use super::protocol::{AVX, AVX512, Ask, REPORT_WORDS};
use calls::{Shared, call3, map};

pub use look::FILTER_BYTES;

/// Where the planter's binary lies in the machine.
pub const PROGRAM: &std::ffi::CStr = c"/mayfly-vm";

/// Longest body of a request.
const BODY_BYTES: usize = 1 + FILTER_BYTES + 8 * (WORDS + 16);
/// The request's body.
static BODY: Shared<[u8; BODY_BYTES]> = Shared::new([0; BODY_BYTES]);
/// See [`super::protocol`].
static REPORT: Shared<[i64; REPORT_WORDS]> = Shared::new([0; REPORT_WORDS]);
/// Address of a page that the planter puts on another frame.
static REMAPPED: Shared<u64> = Shared::new(0);

/// What the remapped page holds in the snapshot.
const MARK: u64 = 0x11;

/// Vector registers of this CPU, as [`AVX`] and [`AVX512`].
fn level() -> u64 {
    match () {
        () if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") => AVX512,
        () if is_x86_feature_detected!("avx") => AVX,
        () => 1,
    }
}

/// Serves requests until its input ends.
pub fn serve() -> ExitCode {
    let page = map(0, 4096);
    if page < 0 {
        return ExitCode::FAILURE;
    }
    // SAFETY: the page was just mapped; nobody else uses the static.
    unsafe {
        (page as *mut u64).write_volatile(MARK);
        REMAPPED.at().write(page.cast_unsigned());
    }
    loop {
        let mut head = [0_u8; 16];
        if registers::read_head(head.as_mut_ptr()) != 16 {
            return ExitCode::FAILURE;
        }
        let Ok(head) = Head::decode(&head, Kind::Request, Limits::default()) else {
            return ExitCode::FAILURE;
        };
        let mut ask = 0_u8;
        // What the planter is to leave unread is not asked for.
        let body = (head.body_bytes as usize).min(BODY_BYTES);
        // SAFETY: the buffers have the lengths given.
        let read = unsafe {
            call3(n::read, 0, (&raw mut ask) as u64, 1) == 1
                && call3(n::read, 0, BODY.at() as u64, body as u64) == body as i64
        };
        if !read {
            return ExitCode::FAILURE;
        }
        // SAFETY: the body was read.
        let first = unsafe { BODY.at().cast::<u8>().read() };
        match ask {
            ask if ask == Ask::Hello as u8 => {
                let words = [REPORT.at() as u64, level()];
                answer(words.map(u64::to_le_bytes).as_flattened());
            }
            ask if ask == Ask::Plant as u8 => plant::plant(first),
            ask if ask == Ask::Look as u8 => {
                let words = body.saturating_sub(1 + FILTER_BYTES) / 8;
                answer(look::look(words).as_bytes());
            }
            ask if ask == Ask::Forbidden as u8 => {
                registers::forbidden(first);
                answer(b"went through");
            }
            _ => return ExitCode::FAILURE,
        }
    }
}

fn answer(body: &[u8]) {
    let head = Head {
        kind: Kind::Response,
        header_bytes: 0,
        body_bytes: body.len() as u32,
    };
    let frame = [&head.encode()[..], body].concat();
    // SAFETY: the frame has this length.
    unsafe { call3(n::write, 1, frame.as_ptr() as u64, frame.len() as u64) };
}
