//! What all exports share: one way to declare them, one guard, one table of statuses.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An export, as declared.
#[derive(Debug)]
pub struct Function {
    /// Its symbol.
    pub name: &'static str,
    /// The native types of its parameters, in order. All exports return `i32`.
    pub parameters: &'static [&'static str],
}

/// Declares the exports: each runs behind [`guard`] and is listed in `FUNCTIONS`, by the same tokens.
macro_rules! exports {
    ($( $(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block )*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// Each pointer is to as many readable (`const`) or writable (`mut`) elements as the length or capacity behind it
            /// says, and nobody else writes them during the call. It may be anything when that number is 0.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
                $crate::abi::guard(|| $body)
            }
        )*
        /// All exports.
        pub const FUNCTIONS: &[$crate::abi::Function] = &[
            $($crate::abi::Function { name: stringify!($name), parameters: &[$(stringify!($type)),*] }),*
        ];
    };
}
pub(crate) use exports;

/// Declares numbers that both sides know, and a table of their names.
macro_rules! numbers {
    ($(#[$doc:meta])* $name:ident: $repr:ident, $table:ident { $($(#[$each:meta])* $variant:ident = $value:literal $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr($repr)]
        pub enum $name { $($(#[$each])* $variant = $value),* }
        /// The names and values, for the description of the ABI.
        pub const $table: &[(&str, i64)] = &[$(($word, $value)),*];
    };
}
pub(crate) use numbers;

numbers! {
    /// What an export returns instead of a count, a handle or a ticket, all of which are at least 0.
    Status: i32, STATUSES {
        /// No such handle, or one that was freed.
        BadHandle = -1 "bad-handle",
        /// An argument out of its range, or a description that does not parse.
        BadArgument = -2 "bad-argument",
        /// As many requests wait as may, or as many tickets are held.
        QueueFull = -3 "queue-full",
        /// The pool was stopped.
        Closed = -4 "closed",
        /// This host cannot run machines.
        Unavailable = -5 "unavailable",
        /// The program did not come to wait for a request.
        BootFailed = -6 "boot-failed",
        /// Not there yet.
        NotReady = -7 "not-ready",
        /// Another call of this kind is under way.
        Busy = -8 "busy",
        /// No such ticket, or one that is not done.
        BadTicket = -9 "bad-ticket",
        /// The operating system refused something.
        System = -10 "system",
        /// A bug of ours; it was contained.
        Panic = -11 "panic",
        /// There is no such file.
        Missing = -12 "missing",
        /// A snapshot that is of no use here.
        Stale = -13 "stale",
    }
}

/// A status with words for a person.
#[derive(Debug)]
pub struct Fault {
    /// What the export returns.
    pub status: Status,
    /// What `mayfly_last_error` says on this thread.
    pub text: String,
}

/// A fault from a status and words.
pub fn fault(status: Status, text: impl Into<String>) -> Fault {
    Fault {
        status,
        text: text.into(),
    }
}

/// The inside of every export.
pub type Answer = Result<i32, Fault>;

thread_local! {
    static LAST_ERROR: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The text of this thread's last call that failed.
pub fn last_error() -> String {
    LAST_ERROR.with_borrow(String::clone)
}

/// Runs the inside of an export: a fault becomes its status, a panic [`Status::Panic`].
pub fn guard(inside: impl FnOnce() -> Answer) -> i32 {
    let result = catch_unwind(AssertUnwindSafe(inside));
    let Fault { status, text } = match result {
        Ok(Ok(value)) => return value,
        Ok(Err(fault)) => fault,
        Err(panic) => fault(Status::Panic, format!("internal error: {}", words(&*panic))),
    };
    LAST_ERROR.with_borrow_mut(|last| *last = text);
    status as i32
}

/// What a panic says.
pub fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without words")
}

/// A count as an export returns it.
pub fn count(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// The bytes that a caller gave.
///
/// # Safety
/// `pointer` is to `length` readable bytes that nobody writes during `'a`, or `length` is 0.
pub unsafe fn bytes_in<'a>(pointer: *const u8, length: u32) -> Result<&'a [u8], Fault> {
    match (length, pointer.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(fault(
            Status::BadArgument,
            format!("read {length} bytes: at null, want an address"),
        )),
        // SAFETY: not null, and the caller's promise holds for the length.
        (_, false) => Ok(unsafe { std::slice::from_raw_parts(pointer, length as usize) }),
    }
}

/// Copies as many bytes as fit and tells how many there are.
///
/// # Safety
/// `pointer` is to `capacity` writable bytes that nobody else uses during the call, or `capacity` is 0.
pub unsafe fn bytes_out(bytes: &[u8], pointer: *mut u8, capacity: u32) -> Answer {
    let n = bytes.len().min(capacity as usize);
    if n > 0 {
        if pointer.is_null() {
            let text = format!("write {n} bytes: at null, want an address");
            return Err(fault(Status::BadArgument, text));
        }
        // SAFETY: n is at most the length of both; a caller's buffer cannot overlap a slice of ours.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), pointer, n) };
    }
    Ok(count(bytes.len()))
}

/// How many records there is room for, at least one.
pub fn records_room<T>(records: *mut T, capacity: u32) -> Result<usize, Fault> {
    if records.is_null() || capacity == 0 {
        let text = format!("ask for what is done: room for {capacity} at {records:?}, want room");
        return Err(fault(Status::BadArgument, text));
    }
    Ok(capacity as usize)
}

/// Copies the records, and tells how many there are.
///
/// # Safety
/// `records` has room for all of `done`.
pub unsafe fn records_out<T: Copy>(done: &[T], records: *mut T) -> Answer {
    for (i, record) in done.iter().enumerate() {
        // SAFETY: the caller's promise; alignment is not needed.
        unsafe { records.add(i).write_unaligned(*record) };
    }
    Ok(count(done.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guard_turns_faults_and_panics_into_statuses_with_words() {
        assert_eq!(guard(|| Ok(7)), 7);
        assert_eq!(
            guard(|| Err(fault(Status::Closed, "shut"))),
            Status::Closed as i32
        );
        assert_eq!(last_error(), "shut");
        assert_eq!(guard(|| panic!("number {}", 3)), Status::Panic as i32);
        assert_eq!(last_error(), "internal error: number 3");
        assert_eq!(guard(|| std::panic::panic_any(5)), Status::Panic as i32);
        assert!(last_error().contains("without words"));
        assert_eq!(guard(|| Ok(0)), 0);
        assert!(last_error().contains("without words"));
    }

    #[test]
    fn errors_belong_to_their_thread() {
        guard(|| Err(fault(Status::Busy, "mine")));
        let other = std::thread::spawn(last_error).join().unwrap();
        assert_eq!((other.as_str(), last_error().as_str()), ("", "mine"));
    }

    #[test]
    fn bytes_are_copied_up_to_the_capacity_and_counted_whole() {
        let mut buffer = [9u8; 4];
        // SAFETY: the buffer has as many bytes as said.
        let n = unsafe { bytes_out(b"abcdef", buffer.as_mut_ptr(), 3) }.unwrap();
        assert_eq!((n, &buffer), (6, b"abc\x09"));
        // SAFETY: nothing is written or read at null.
        unsafe {
            assert_eq!(bytes_out(b"abc", std::ptr::null_mut(), 0).unwrap(), 3);
            assert_eq!(bytes_in(std::ptr::null(), 0).unwrap(), b"");
            assert!(bytes_out(b"abc", std::ptr::null_mut(), 1).is_err());
            assert!(bytes_in(std::ptr::null(), 1).is_err());
        }
    }
}
