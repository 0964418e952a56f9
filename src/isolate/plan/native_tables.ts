/** Tables of `native/abi`, written by its `generate.ts`; change them there. */

/** Most worker threads of a pool, each with its machines. */
export const WORKERS_MAX = 256

/** Most requests that wait in a pool. */
export const QUEUE_MAX = 16_384

/** Greatest weight of a flow: the requests in a row that it may have started. */
export const WEIGHT_MAX = 16

/** Least memory of a guest, in bytes. */
export const MEMORY_MIN = 1_048_576

/** Most memory of a guest, in bytes. */
export const MEMORY_MAX = 1_099_511_627_776

/** Fewest descriptors that a guest may be given. */
export const DESCRIPTORS_MIN = 3

/** Most descriptors that a guest may be given: each costs the host memory, and a reset looks at all of them. */
export const DESCRIPTORS_MAX = 65_536

/** Descriptors of a guest that says no number. */
export const DESCRIPTORS_DEFAULT = 1_024

/** Most threads that a guest may be given; they cost as descriptors do. */
export const THREADS_MAX = 1_024

/** Threads of a guest that says no number. */
export const THREADS_DEFAULT = 64

/** Fewest mappings that a guest may be given. */
export const MAPPINGS_MIN = 16

/** Most mappings that a guest may be given, as in Linux; a guest that says no number has as many. */
export const MAPPINGS_MAX = 65_530

/** System calls of a request that says no number. */
export const CALLS_DEFAULT = 1_000_000

/** Bytes that are kept of what a request that says no number writes to fd 2. */
export const LOG_DEFAULT = 65_536

/** Bytes of a response's body, for a request that says no number. */
export const OUTPUT_DEFAULT = 8_388_608

/** Most microseconds by which a program's clocks move on. */
export const CLOCK_MAX_US = 1_000_000

/** Most runs of one warm-up frame. */
export const WARMUP_RUNS_MAX = 1_000_000

/** Most milliseconds for which a stream of a request's answer, or its WebSocket, may live or be silent: a day. */
export const STREAM_MS_MAX = 86_400_000

/** Milliseconds of a stream's life, for a request that says no number. */
export const STREAM_MS_DEFAULT = 600_000

/** Milliseconds for which nothing of a stream may move on, for a request that says no number. */
export const STREAM_IDLE_MS_DEFAULT = 60_000

/** Most bytes of a stream. */
export const STREAM_BYTES_MAX = 1_099_511_627_776

/** Bytes of a stream, each way, for a request that says no number. */
export const STREAM_BYTES_DEFAULT = 67_108_864

/** Arguments in front of the module: no configuration, no lock file, nothing fetched, and no permission unless more is said. */
export const DENO_ARGUMENTS = [
  'run',
  '--no-prompt',
  '--cached-only',
  '--no-lock',
  '--no-config',
  '--no-npm',
  '--no-remote',
  '--no-check',
] as const

/**
 * V8's flags. One thread, and no inlining in V8's middle tier: a hot loop that Maglev has inlined into a function that runs once a
 * request never reaches TurboFan (seen: 450 us instead of 120). Code of lower tiers counts how often it runs, in a cell of each
 * function, and so writes to one page after another: a warm-up of 1000 requests, which a handler's routes share, takes all of it to
 * TurboFan. Wanted are 3000 runs else, and 500 behind each shape that is new to a function. Fewer runs than these would make V8
 * compile in the middle of requests that are unlike the warm-up's, each time anew: docs/decisions/02-warm-up-while-it-helps.md.
 */
export const V8_FLAGS = [
  '--single-threaded',
  '--no-maglev-inlining',
  '--invocation-count-for-maglev=100',
  '--invocation-count-for-turbofan=1000',
  '--minimum-invocations-after-ic-update=50',
] as const

/** Environment that keeps Deno from looking for folders and servers: there are none in a guest. */
export const DENO_ENVIRONMENT = [
  'HOME=/nonexistent',
  'DENO_DIR=/nonexistent',
  'DENO_NO_UPDATE_CHECK=1',
  'NO_COLOR=1',
] as const
