//! The C ABI between Deno and the pool. `src/isolate/ffi/symbols.ts` is its other side.
//!
//! ```text
//! mayfly_program_boot ── mayfly_program_wait ──> program handle       one with a key is shared by all isolates that name it
//! mayfly_pool_start ──> pool handle                                   the same: each isolate hears of its own requests
//!    mayfly_submit (never blocks) ──> ticket ... mayfly_wait (blocks, one at a time) ──> tickets that are done
//!    mayfly_ask: both, for an answer that comes soon
//!    mayfly_read, mayfly_take; mayfly_resets
//! mayfly_pool_stop, mayfly_pool_free, mayfly_program_free
//! ```
//!
//! Every export returns an `i32`: a count, a handle or a ticket, or a negative [`abi::Status`]. Text and bytes go to buffers
//! of the caller: as much as fits is copied and the whole length returned. Nothing unwinds and nothing aborts.

mod abi;
mod cache;
mod doctor;
mod layout;
mod members;
mod pool;
mod program;
mod registry;
mod shares;
mod spec;
mod tickets;
mod verdict;
mod warmup;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mayfly_pool::{Parking, Scheduling, WarmupRequest, choose_scheduling, time_request};
use mayfly_wire::{HEAD_BYTES, MESSAGE_LIMITS};

use abi::{Fault, Status, bytes_in, bytes_out, count, exports, fault, records_out, records_room};
use layout::{CHECK, Completion, FLOW_SHIFT, KEEP, LATE, Part, Pointers, Reset, WEIGHT_SHIFT};
use members::Member;
use pool::{Request, Sizes};
use program::BootedProgram;
use registry::Registry;
use shares::shares;
use spec::Start;

static PROGRAMS: Registry<BootedProgram> = Registry::new("program");
static POOLS: Registry<Member> = Registry::new("pool");

exports! {
    /// The library's version.
    fn mayfly_version(text: *mut u8, capacity: u32) {
        // SAFETY: the caller's promise.
        unsafe { bytes_out(env!("CARGO_PKG_VERSION").as_bytes(), text, capacity) }
    }

    /// The whole ABI as text.
    fn mayfly_abi(text: *mut u8, capacity: u32) {
        // SAFETY: the caller's promise.
        unsafe { bytes_out(layout::describe(Pointers::Typed).as_bytes(), text, capacity) }
    }

    /// A hash of the ABI's text with all pointers alike.
    fn mayfly_abi_hash() {
        Ok(layout::hash(&layout::describe(Pointers::Plain)))
    }

    /// Words about the last call of this thread that failed.
    fn mayfly_last_error(text: *mut u8, capacity: u32) {
        // SAFETY: the caller's promise.
        unsafe { bytes_out(abi::last_error().as_bytes(), text, capacity) }
    }

    /// What this host can do, as JSON. Opens KVM for it.
    fn mayfly_doctor(text: *mut u8, capacity: u32) {
        // SAFETY: the caller's promise.
        unsafe { bytes_out(doctor::report().as_bytes(), text, capacity) }
    }

    /// Begins to boot a program from its description and gives its handle at once. With a key it is that of a program that was booted
    /// with the same one, if there is one that has not failed; each holder frees it once.
    fn mayfly_program_boot(description: *const u8, length: u32, key: *const u8, key_length: u32) {
        // SAFETY: the caller's promise.
        let (description, key) = unsafe { (bytes_in(description, length)?, bytes_in(key, key_length)?) };
        let description = spec::decode(description)?;
        let boot = || {
            let base = match &description.start {
                Start::Boot(_) | Start::Open(None, _) => None,
                Start::Load(base, _) | Start::Open(Some(base), _) => Some(PROGRAMS.get(*base)?),
            };
            PROGRAMS.add(BootedProgram::boot(description, base)?)
        };
        if key.is_empty() {
            boot()
        } else {
            let sound = |handle| PROGRAMS.get(handle).is_ok_and(|program| !program.has_failed());
            shares().hold(key, sound, boot)
        }
    }

    /// Waits until a program has booted. Blocks.
    fn mayfly_program_wait(program: i32, timeout_ms: u32) {
        let program = PROGRAMS.get(program)?;
        program.wait(Duration::from_millis(timeout_ms.into()))?;
        Ok(0)
    }

    /// Ends a boot before its next warm-up request; who waits for it learns that it is closed. Does nothing to one that is over, or that
    /// others wait for too.
    fn mayfly_program_call_off(program: i32) {
        let booted = PROGRAMS.get(program)?;
        let mut shares = shares();
        if !shares.has_others(program) {
            shares.hide(program);
            booted.call_off();
        }
        Ok(0)
    }

    /// How many isolates hold a program.
    fn mayfly_program_holders(program: i32) {
        PROGRAMS.get(program)?;
        Ok(count(shares().holders(program)))
    }

    /// How a boot went or why it failed, as JSON.
    fn mayfly_program_text(program: i32, text: *mut u8, capacity: u32) {
        let words = PROGRAMS.get(program)?.text()?;
        // SAFETY: the caller's promise.
        unsafe { bytes_out(words.as_bytes(), text, capacity) }
    }

    /// The last answer to a warm-up frame that was to be kept, by the frame's place among all.
    fn mayfly_program_answer(program: i32, index: u32, bytes: *mut u8, capacity: u32) {
        let answer = PROGRAMS.get(program)?.answer(index)?;
        // SAFETY: the caller's promise.
        unsafe { bytes_out(&answer, bytes, capacity) }
    }

    /// Makes a folder for snapshots, and refuses one in which somebody else could put or change files.
    fn mayfly_cache_open(folder: *const u8, length: u32) {
        // SAFETY: the caller's promise.
        let folder = unsafe { bytes_in(folder, length)? };
        cache::open_folder(path(folder)?.as_ref())?;
        Ok(0)
    }

    /// Writes a program to a file, with the answers that were kept and the caller's notes; the description's item `stored` goes on from it.
    /// `base` is the program that it was loaded into, or 0: what lies in the base's file is left out. Then removes the files of the folder
    /// that were not used for the longest time, until the others have at most so many MiB. Does nothing for a program that has this
    /// file. Gives 0, or as text why that cannot be. Blocks.
    fn mayfly_program_save(
        program: i32,
        base: i32,
        file: *const u8,
        file_length: u32,
        notes: *const u8,
        notes_length: u32,
        most_mb: u32,
        text: *mut u8,
        capacity: u32,
    ) {
        // SAFETY: the caller's promise.
        let (file, notes) = unsafe { (bytes_in(file, file_length)?, bytes_in(notes, notes_length)?) };
        let file = PathBuf::from(path(file)?);
        let base = (base != 0).then(|| PROGRAMS.get(base)).transpose()?;
        match PROGRAMS.get(program)?.save(&file, notes, base.as_deref(), u64::from(most_mb) << 20) {
            Ok(()) => Ok(0),
            // SAFETY: the caller's promise.
            Err(fault) => unsafe { bytes_out(fault.text.as_bytes(), text, capacity) },
        }
    }

    /// The notes of who saved a program, if it came from a file; else nothing.
    fn mayfly_program_notes(program: i32, bytes: *mut u8, capacity: u32) {
        let notes = PROGRAMS.get(program)?.notes()?;
        // SAFETY: the caller's promise.
        unsafe { bytes_out(&notes, bytes, capacity) }
    }

    /// Machines of this process ask nothing of the scheduler, for benchmarks on a busy host: no long slices, no short sleeps. Before the
    /// first machine; refused later.
    fn mayfly_leave_scheduler() {
        match choose_scheduling(Scheduling::NONE) {
            true => Ok(0),
            false => Err(fault(
                Status::BadArgument,
                "leave the scheduler alone: it was chosen before",
            )),
        }
    }

    /// Runs a request again and again in one fork, for benchmarks: for so long, or until the times of its runs fill the capacity. Each
    /// is 8 bytes, little-endian nanoseconds of CPU time from frame to answer; none may take over 20 s. Gives the count of runs.
    fn mayfly_program_time(
        program: i32,
        frame: *const u8,
        length: u32,
        time_ms: u32,
        times: *mut u8,
        capacity: u32,
    ) {
        let program = PROGRAMS.get(program)?.program()?;
        // SAFETY: the caller's promise.
        let frame = unsafe { bytes_in(frame, length) }?.to_vec();
        let request = WarmupRequest {
            timeout_ns: 20_000_000_000,
            ..WarmupRequest::new(frame)
        };
        let time = Duration::from_millis(time_ms.into());
        let runs = time_request(&program, &request, time, capacity as usize / 8)
            .map_err(|e| fault(Status::System, format!("time a request: {e}")))?;
        let bytes: Vec<u8> = runs.iter().flat_map(|ns| ns.to_le_bytes()).collect();
        // SAFETY: the caller's promise.
        unsafe { bytes_out(&bytes, times, capacity) }?;
        Ok(count(runs.len()))
    }

    /// Forgets a program once its last holder has called this; its memory goes with its last machine and request. Once more does
    /// nothing.
    fn mayfly_program_free(program: i32) {
        let (was_shared, is_last) = shares().let_go(program);
        if is_last
            && let Some(booted) = PROGRAMS.remove(program)?
            && was_shared
            && let Ok(program) = booted.program()
        {
            // Two that let go at once have each left the machines to the other.
            for pool in POOLS.all() {
                pool.pool().retire(program.id());
            }
        }
        Ok(0)
    }

    /// Starts worker threads and gives the pool's handle. With a key it is one more handle of the pool of that key and these sizes, if
    /// there is one: the threads, the queue and the programs' machines are the same, tickets and completions are each handle's own. At most so
    /// many requests with a channel are under way at once, of each program and in all, and those that are parked hold at most so many MiB.
    fn mayfly_pool_start(
        workers: u32,
        queue: u32,
        parked_each: u32,
        parked_all: u32,
        parked_each_mb: u32,
        parked_all_mb: u32,
        key: *const u8,
        key_length: u32,
    ) {
        // SAFETY: the caller's promise.
        let key = unsafe { bytes_in(key, key_length)? };
        let parked = Parking {
            each: parked_each as usize,
            all: parked_all as usize,
            each_bytes: u64::from(parked_each_mb) << 20,
            all_bytes: u64::from(parked_all_mb) << 20,
        };
        let sizes = Sizes { workers, queue, parked };
        POOLS.add(Arc::new(Member::join(key, sizes)?))
    }

    /// How many handles the pool has.
    fn mayfly_pool_members(pool: i32) {
        Ok(count(POOLS.get(pool)?.members()))
    }

    /// 32 bytes that all handles of this pool know, and nobody else.
    fn mayfly_pool_secret(pool: i32, bytes: *mut u8, capacity: u32) {
        // SAFETY: the caller's promise.
        unsafe { bytes_out(POOLS.get(pool)?.secret(), bytes, capacity) }
    }

    /// How many workers have a machine of a program.
    fn mayfly_pool_prepared(pool: i32, program: i32) {
        let id = PROGRAMS.get(program)?.program()?.id();
        Ok(count(POOLS.get(pool)?.pool().prepared(id)))
    }

    /// Makes every worker fork a program ahead of its first request, one after the other.
    fn mayfly_pool_prepare(pool: i32, program: i32) {
        POOLS.get(pool)?.pool().prepare(&PROGRAMS.get(program)?.program()?);
        Ok(0)
    }

    /// Makes every worker drop the machines that no request came for in so many milliseconds, but for those that hold a program's state.
    fn mayfly_pool_drop_idle(pool: i32, least_ms: u32) {
        POOLS.get(pool)?.pool().drop_idle(u64::from(least_ms) * 1_000_000);
        Ok(0)
    }

    /// Makes every worker drop its machine of a program, unless somebody else holds it. Its last request must be done: a later one forks it
    /// anew.
    fn mayfly_pool_retire(pool: i32, program: i32) {
        let id = PROGRAMS.get(program)?.program()?.id();
        if !shares().has_others(program) {
            POOLS.get(pool)?.pool().retire(id);
        }
        Ok(0)
    }

    /// Counts since the start, as JSON.
    fn mayfly_pool_statistics(pool: i32, text: *mut u8, capacity: u32) {
        let words = POOLS.get(pool)?.statistics();
        // SAFETY: the caller's promise.
        unsafe { bytes_out(words.as_bytes(), text, capacity) }
    }

    /// Refuses new requests of this handle; those submitted are still done and can be waited for.
    fn mayfly_pool_stop(pool: i32) {
        POOLS.get(pool)?.stop();
        Ok(0)
    }

    /// Stops a pool and forgets this handle with all its tickets; the last one waits for the threads to end. Blocks. A second time does
    /// nothing.
    fn mayfly_pool_free(pool: i32) {
        drop(POOLS.remove(pool)?);
        Ok(0)
    }

    /// Adds a request frame and gives its ticket. Never blocks. Flag 1 keeps the program's state; with flag 4 it may say messages, as one of `mayfly_open`, from its first on.
    fn mayfly_submit(
        pool: i32,
        program: i32,
        frame: *const u8,
        length: u32,
        timeout_us: u32,
        flags: u32,
    ) {
        // SAFETY: the caller's promise.
        let frame = unsafe { bytes_in(frame, length)? };
        let request = request(program, frame, timeout_us, flags)?;
        POOLS.get(pool)?.submit(request)
    }

    /// As `mayfly_submit`, for a request that has a channel: it may say messages, and wait for those of the host.
    fn mayfly_open(
        pool: i32,
        program: i32,
        frame: *const u8,
        length: u32,
        timeout_us: u32,
        flags: u32,
    ) {
        // SAFETY: the caller's promise.
        let frame = unsafe { bytes_in(frame, length)? };
        let request = request(program, frame, timeout_us, flags)?;
        POOLS.get(pool)?.open(request)
    }

    /// Takes messages that a request said, whole frames back to back, and gives their length: as many as fit, 0 when none are left. The
    /// capacity has room for the longest.
    fn mayfly_hear(pool: i32, ticket: i32, bytes: *mut u8, capacity: u32) {
        if (capacity as usize) < HEARD_MIN {
            let text = format!("hear messages: room for {capacity} bytes, want {HEARD_MIN}");
            return Err(fault(Status::BadArgument, text));
        }
        // SAFETY: the caller's promise.
        let hear = |found: &[u8]| unsafe { bytes_out(found, bytes, capacity) };
        POOLS.get(pool)?.hear(ticket, capacity as usize, hear)?
    }

    /// Says a message, one whole frame, to a request that is under way: 1, or 0 when it has ended or its inbox is full.
    fn mayfly_say(pool: i32, ticket: i32, message: *const u8, length: u32) {
        // SAFETY: the caller's promise.
        let message = unsafe { bytes_in(message, length)? };
        Ok(POOLS.get(pool)?.say(ticket, message)?.into())
    }

    /// Ends a request that has a channel, soon: its outcome is `called-off`, or another that came before.
    fn mayfly_call_off(pool: i32, ticket: i32) {
        POOLS.get(pool)?.call_off(ticket)?;
        Ok(0)
    }

    /// Gives a request that has a channel so many milliseconds from now on, in place of the time that it began with.
    fn mayfly_extend(pool: i32, ticket: i32, time_ms: u32) {
        POOLS.get(pool)?.extend(ticket, Duration::from_millis(time_ms.into()))?;
        Ok(0)
    }

    /// As `mayfly_submit`, and then looks for what is done, for a short time that is spent without sleep: as long as the calling
    /// thread may be held up. The completion's ticket is -1 when nothing was done. If the answer fits into `capacity` and is all that
    /// the request left, it is copied to `answer`, and the ticket is not valid any more.
    fn mayfly_ask(
        pool: i32,
        program: i32,
        frame: *const u8,
        length: u32,
        timeout_us: u32,
        flags: u32,
        longest_us: u32,
        completion: *mut Completion,
        answer: *mut u8,
        capacity: u32,
    ) {
        records_room(completion, 1)?;
        // SAFETY: the caller's promise.
        let frame = unsafe { bytes_in(frame, length)? };
        let request = request(program, frame, timeout_us, flags)?;
        let longest = Duration::from_micros(longest_us.into());
        let (ticket, told) = POOLS.get(pool)?.ask(request, longest, capacity as usize)?;
        let (done, response) = told.unwrap_or((Completion::NONE, Vec::new()));
        // SAFETY: there is room for one, and the caller's promise holds for `answer`.
        unsafe {
            records_out(&[done], completion)?;
            bytes_out(&response, answer, capacity)?;
        }
        Ok(ticket)
    }

    /// Waits for requests that are done, or that said something (the outcome is `said` then), and gives their number: 0 when time is over, or when the pool was stopped and has
    /// none left. One call at a time. Blocks.
    fn mayfly_wait(pool: i32, completions: *mut Completion, capacity: u32, timeout_us: u32) {
        let room = records_room(completions, capacity)?;
        let done = POOLS.get(pool)?.wait(room, Duration::from_micros(timeout_us.into()))?;
        // SAFETY: `wait` gives at most as many as there is room for.
        unsafe { records_out(&done, completions) }
    }

    /// Copies a part of what a request left, once it is done.
    fn mayfly_read(pool: i32, ticket: i32, part: u32, bytes: *mut u8, capacity: u32) {
        let part = [Part::Response, Part::Log, Part::Message, Part::Denials].into_iter().find(|p| *p as u32 == part).ok_or_else(|| {
            fault(Status::BadArgument, format!("read what a request left: part {part}, want 0 to 3"))
        })?;
        // SAFETY: the caller's promise.
        POOLS.get(pool)?.read(ticket, part, |found| unsafe { bytes_out(found, bytes, capacity) })?
    }

    /// Copies the response of a request that is done, which is nothing without an answer, and forgets the request: its ticket is
    /// not valid any more.
    fn mayfly_take(pool: i32, ticket: i32, bytes: *mut u8, capacity: u32) {
        // SAFETY: the caller's promise.
        POOLS.get(pool)?.take_response(ticket, |found| unsafe { bytes_out(found, bytes, capacity) })?
    }

    /// Resets that ended since the last call, of requests that were done before; gives their number. Never blocks. After a
    /// `mayfly_wait` that gave 0 because the pool was stopped, all have ended.
    fn mayfly_resets(pool: i32, resets: *mut Reset, capacity: u32) {
        let room = records_room(resets, capacity)?;
        let ended = POOLS.get(pool)?.resets(room)?;
        // SAFETY: `resets` gives at most as many as there is room for.
        unsafe { records_out(&ended, resets) }
    }
}

/// Least room for messages: the longest one.
const HEARD_MIN: usize = HEAD_BYTES + MESSAGE_LIMITS.header as usize + MESSAGE_LIMITS.body as usize;

fn path(bytes: &[u8]) -> Result<&str, Fault> {
    str::from_utf8(bytes).map_err(|e| fault(Status::BadArgument, format!("use a path: {e}, want UTF-8")))
}

fn request(program: i32, frame: &[u8], timeout_us: u32, flags: u32) -> Result<Request<'_>, Fault> {
    let flow = flags >> FLOW_SHIFT;
    let weight = flags >> WEIGHT_SHIFT & 0xf;
    if flags & !(KEEP | CHECK | LATE) != flow << FLOW_SHIFT | weight << WEIGHT_SHIFT {
        let text = format!(
            "submit a request: flags {flags:#x}, want bits 0 to 2 or none, a weight less 1 from bit {WEIGHT_SHIFT} and a flow from bit {FLOW_SHIFT} on"
        );
        return Err(fault(Status::BadArgument, text));
    }
    spec::check_frame(frame)?;
    Ok(Request {
        program: PROGRAMS.get(program)?.program()?,
        frame,
        flow,
        weight: weight + 1,
        timeout: Duration::from_micros(timeout_us.into()),
        keep: flags & KEEP != 0,
        check: flags & CHECK != 0,
        late: flags & LATE != 0,
    })
}

#[cfg(test)]
mod tests;
