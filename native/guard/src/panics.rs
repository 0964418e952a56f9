//! Panics of watched threads, recorded where they start.

use std::cell::RefCell;
use std::panic;
use std::sync::Once;

use crate::crash::{Cause, Crash};
use crate::slot::FRAMES;

thread_local! {
    /// On a watched thread: room for its panic.
    static PANIC: RefCell<Option<Room>> = const { RefCell::new(None) };
}

#[derive(Debug, Default)]
struct Room {
    message: String,
    frames: Vec<usize>,
}

/// Makes the panics of the calling thread recorded instead of printed.
pub(crate) fn watch() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let watched = PANIC
                .try_with(|room| match room.try_borrow_mut() {
                    Ok(mut room) => room.as_mut().map(|room| fill(room, info)).is_some(),
                    Err(_) => false,
                })
                .unwrap_or(false);
            if !watched {
                previous(info);
            }
        }));
    });
    PANIC.set(Some(Room::default()));
}

fn fill(room: &mut Room, info: &panic::PanicHookInfo<'_>) {
    let what = info.payload_as_str().unwrap_or("a value that is no text");
    room.message = match info.location() {
        Some(place) => format!("{what}, at {}:{}", place.file(), place.line()),
        None => what.into(),
    };
    room.frames.clear();
    backtrace::trace(|frame| {
        room.frames.push(frame.ip() as usize);
        room.frames.len() < FRAMES
    });
}

/// The last panic of the calling thread.
pub(crate) fn take(thread: &str) -> Crash {
    let room = PANIC.take().unwrap_or_default();
    Crash {
        thread: thread.into(),
        cause: Cause::Panic(room.message),
        registers: None,
        frames: room.frames,
    }
}
