//! What both of the host's languages know: bounds, and how the runtime of a guest is started.
//!
//! `native/abi/generate.ts` writes `src/isolate/plan/native_tables.ts` from these files, and `deno task check` fails where the two
//! differ. It reads constants of integers and of lists of texts, one after the other, and nothing else.
#![no_std]
#![forbid(unsafe_code)]

pub mod deno;
pub mod limits;
