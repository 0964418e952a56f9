//! The small guest: `guest-core SURFACE MAIN`.
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
//! Everything runs on the main thread. What cannot go on is told on fd 2 and ends the process with status 1; a heap over its limit
//! ends it with [`memory::STATUS`].

mod environment;
mod load;
mod memory;
mod ops;
mod runtime;

use std::process::ExitCode;

fn main() -> ExitCode {
    environment::take();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [surface, main] = arguments.as_slice() else {
        eprintln!("guest-core: {} arguments, wanted SURFACE MAIN", arguments.len());
        return ExitCode::from(2);
    };
    match runtime::run(surface, main) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("guest-core: {error}");
            ExitCode::FAILURE
        }
    }
}
