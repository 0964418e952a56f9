//! Linux error numbers, as system calls answer them.

use serde::{Deserialize, Serialize};

/// A Linux error number. A system call answers with its negative.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Errno(pub u16);

macro_rules! errnos {
    ($($name:ident = $value:literal),* $(,)?) => {
        #[allow(missing_docs, reason = "the names are Linux's (errno.h)")]
        impl Errno { $(pub const $name: Errno = Errno($value);)* }

        impl std::fmt::Debug for Errno {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.0 { $($value => f.write_str(stringify!($name)),)* other => write!(f, "E{other}") }
            }
        }
    };
}

errnos! {
    EPERM = 1, ENOENT = 2, ESRCH = 3, EINTR = 4, EIO = 5, ENXIO = 6, E2BIG = 7, ENOEXEC = 8, EBADF = 9, ECHILD = 10,
    EAGAIN = 11, ENOMEM = 12, EACCES = 13, EFAULT = 14, EBUSY = 16, EEXIST = 17, EXDEV = 18, ENODEV = 19, ENOTDIR = 20,
    EISDIR = 21, EINVAL = 22, ENFILE = 23, EMFILE = 24, ENOTTY = 25, EFBIG = 27, ENOSPC = 28, ESPIPE = 29, EROFS = 30,
    EPIPE = 32, EDOM = 33, ERANGE = 34, EDEADLK = 35, ENAMETOOLONG = 36, ENOLCK = 37, ENOSYS = 38, ENOTEMPTY = 39, ELOOP = 40,
    EOVERFLOW = 75, ENOTSOCK = 88, EDESTADDRREQ = 89, EMSGSIZE = 90, ENOPROTOOPT = 92, EPROTONOSUPPORT = 93,
    ESOCKTNOSUPPORT = 94, EOPNOTSUPP = 95,
    EAFNOSUPPORT = 97, EADDRINUSE = 98, EADDRNOTAVAIL = 99, ENETUNREACH = 101, ECONNRESET = 104, ENOBUFS = 105, EISCONN = 106,
    ENOTCONN = 107, ETIMEDOUT = 110, ECONNREFUSED = 111, EHOSTUNREACH = 113, EALREADY = 114, EINPROGRESS = 115, ECANCELED = 125,
}

impl Errno {
    /// Not an error of Linux and never seen by the guest: no page was left to copy into, and the guest must end.
    pub const OUT_OF_MEMORY: Self = Self(4095);
    /// ENOMEM to the guest: as many mappings as may be.
    pub const OVER_MAPPINGS: Self = Self(4094);
    /// ENOMEM to the guest: as much address space as may be.
    pub const OVER_RESERVED: Self = Self(4093);

    /// Not an error of Linux and never seen by the guest: the call did a piece of its work ([`crate::bounds`]) and is to be made again.
    pub const UNFINISHED: Self = Self(4092);

    /// The value a system call leaves in `rax` for this error.
    #[must_use]
    pub fn as_result(self) -> u64 {
        let seen = match self {
            Self::OVER_MAPPINGS | Self::OVER_RESERVED => Self::ENOMEM,
            other => other,
        };
        (-i64::from(seen.0)).cast_unsigned()
    }
}
