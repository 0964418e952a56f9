//! Bounds of pools, programs and requests. The library refuses what is out of them; the framework's options are narrower at most.

/// Most worker threads of a pool, each with its machines.
pub const WORKERS_MAX: u32 = 256;
/// Most requests that wait in a pool.
pub const QUEUE_MAX: u32 = 16_384;
/// Greatest weight of a flow: the requests in a row that it may have started.
pub const WEIGHT_MAX: u32 = 16;
/// Least memory of a guest, in bytes.
pub const MEMORY_MIN: u64 = 1 << 20;
/// Most memory of a guest, in bytes.
pub const MEMORY_MAX: u64 = 1 << 40;
/// Fewest descriptors that a guest may be given.
pub const DESCRIPTORS_MIN: u32 = 3;
/// Most descriptors that a guest may be given: each costs the host memory, and a reset looks at all of them.
pub const DESCRIPTORS_MAX: u32 = 65_536;
/// Descriptors of a guest that says no number.
pub const DESCRIPTORS_DEFAULT: u32 = 1024;
/// Most threads that a guest may be given; they cost as descriptors do.
pub const THREADS_MAX: u32 = 1024;
/// Threads of a guest that says no number.
pub const THREADS_DEFAULT: u32 = 64;
/// Fewest mappings that a guest may be given.
pub const MAPPINGS_MIN: u32 = 16;
/// Most mappings that a guest may be given, as in Linux; a guest that says no number has as many.
pub const MAPPINGS_MAX: u32 = 65_530;
/// System calls of a request that says no number.
pub const CALLS_DEFAULT: u64 = 1_000_000;
/// Bytes that are kept of what a request that says no number writes to fd 2.
pub const LOG_DEFAULT: u32 = 65_536;
/// Bytes of a response's body, for a request that says no number.
pub const OUTPUT_DEFAULT: u32 = 8 << 20;
/// Most microseconds by which a program's clocks move on.
pub const CLOCK_MAX_US: u32 = 1_000_000;
/// Most runs of one warm-up frame.
pub const WARMUP_RUNS_MAX: u32 = 1_000_000;
/// Most milliseconds for which a stream of a request's answer, or its WebSocket, may live or be silent: a day.
pub const STREAM_MS_MAX: u32 = 86_400_000;
/// Milliseconds of a stream's life, for a request that says no number.
pub const STREAM_MS_DEFAULT: u32 = 600_000;
/// Milliseconds for which nothing of a stream may move on, for a request that says no number.
pub const STREAM_IDLE_MS_DEFAULT: u32 = 60_000;
/// Most bytes of a stream.
pub const STREAM_BYTES_MAX: u64 = 1 << 40;
/// Bytes of a stream, each way, for a request that says no number.
pub const STREAM_BYTES_DEFAULT: u64 = 64 << 20;
