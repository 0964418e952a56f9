//! A system call: its number, its name, its arguments.

pub mod number;
mod widths;

use serde::{Deserialize, Serialize};

use crate::machine::Registers;

/// A system call as the registers say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Its number.
    pub number: u64,
    /// Its six arguments.
    pub arguments: [u64; 6],
}

impl Call {
    /// The call that these registers make; what is a 32-bit integer on Linux is cut to one.
    #[must_use]
    pub fn from_registers(r: &Registers) -> Self {
        let number = u64::from(r.rax as u32);
        Self {
            number,
            arguments: widths::cut(number, [r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9]),
        }
    }

    /// Whether a handler with SA_RESTART makes it start again (signal(7)).
    #[must_use]
    pub fn restarts(&self) -> bool {
        use number as n;
        match self.number {
            n::read | n::write | n::readv | n::writev | n::pread64 | n::pwrite64 | n::preadv | n::pwritev => {
                true
            }
            n::recvfrom | n::recvmsg | n::sendto | n::sendmsg => true,
            // A wait with a timeout does not.
            n::futex => self.arguments[3] == 0,
            _ => false,
        }
    }
}

/// The name of a system call, or `sys_` and its number.
#[must_use]
pub fn name(number: u64) -> impl std::fmt::Display {
    std::fmt::from_fn(move |f| match number::name(number) {
        Some(name) => f.write_str(name),
        None => write!(f, "sys_{number}"),
    })
}
