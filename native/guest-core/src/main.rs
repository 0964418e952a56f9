//! The small guest: `guest-core SURFACE MAIN [LAYOUT]`.
//!
//! SURFACE is a script that makes the Web's globals out of the host object (see `host.js`); it runs first. MAIN is an ES module. In a
//! machine it waits for a frame on fd 0 that names a program, which it imports, and the instant at which it waits is where the base
//! snapshot is taken.
//!
//! ```text
//! start -> host.js -> SURFACE -> MAIN: read(0) {"control":"load"} -> import of the program -> read(0) write(1) read(0) write(1) ...
//!                                      ^ base snapshot                                        ^ snapshot of the program
//! ```
//!
//! LAYOUT tells which blocks of the heap requests write to (see `heap`); `guest-core --trace` finds it (see `trace`).
//!
//! Everything runs on the main thread. What cannot go on is told on fd 2 and ends the process with status 1; a heap over its limit
//! ends it with [`memory::STATUS`].

mod environment;
mod heap;
mod load;
mod memory;
mod ops;
#[cfg(feature = "quickjs")]
mod quick;
mod runtime;
mod trace;

use std::process::ExitCode;

fn main() -> ExitCode {
    environment::take();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["--trace", folder, frames, surface, main] => trace::begin(folder, frames)
            .map(|()| heap::begin(&[]))
            .and_then(|()| runtime::run(surface, main)),
        [surface, main] => runtime::run(surface, main),
        [surface, main, layout] => heap::read_layout(layout)
            .map(heap::begin)
            .and_then(|()| runtime::run(surface, main)),
        _ => {
            eprintln!(
                "guest-core: {} arguments, wanted SURFACE MAIN [LAYOUT] or --trace FOLDER FRAMES SURFACE MAIN",
                arguments.len()
            );
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("guest-core: {error}");
            ExitCode::FAILURE
        }
    }
}
