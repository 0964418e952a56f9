/**
 * The exports of the crate `mayfly-ffi`. The order and each parameter's native type, in its comment, are those of the Rust
 * side; a test compares them. All return a count, a handle or a ticket, or a negative status.
 */
export const SYMBOLS = {
  mayfly_version: {
    parameters: [
      'buffer', // *mut u8: text
      'u32', // u32: capacity
    ],
    result: 'i32',
  },
  mayfly_abi: {
    parameters: [
      'buffer', // *mut u8: text
      'u32', // u32: capacity
    ],
    result: 'i32',
  },
  mayfly_abi_hash: {
    parameters: [],
    result: 'i32',
  },
  mayfly_last_error: {
    parameters: [
      'buffer', // *mut u8: text
      'u32', // u32: capacity
    ],
    result: 'i32',
  },
  mayfly_doctor: {
    parameters: [
      'buffer', // *mut u8: text
      'u32', // u32: capacity
    ],
    result: 'i32',
    nonblocking: true,
  },
  mayfly_program_boot: {
    parameters: [
      'buffer', // *const u8: description
      'u32', // u32: length
      'buffer', // *const u8: key
      'u32', // u32: length of the key
    ],
    result: 'i32',
  },
  mayfly_program_wait: {
    parameters: [
      'i32', // i32: program
      'u32', // u32: timeout in milliseconds
    ],
    result: 'i32',
    nonblocking: true,
  },
  mayfly_program_call_off: {
    parameters: [
      'i32', // i32: program
    ],
    result: 'i32',
  },
  mayfly_program_holders: {
    parameters: [
      'i32', // i32: program
    ],
    result: 'i32',
  },
  mayfly_program_text: {
    parameters: [
      'i32', // i32: program
      'buffer', // *mut u8: text
      'u32', // u32: capacity
    ],
    result: 'i32',
  },
  mayfly_program_answer: {
    parameters: [
      'i32', // i32: program
      'u32', // u32: index of the warm-up frame
      'buffer', // *mut u8: bytes
      'u32', // u32: capacity
    ],
    result: 'i32',
  },
  mayfly_cache_open: {
    parameters: [
      'buffer', // *const u8: folder
      'u32', // u32: length
    ],
    result: 'i32',
  },
  mayfly_program_save: {
    parameters: [
      'i32', // i32: program
      'i32', // i32: base, or 0
      'buffer', // *const u8: file
      'u32', // u32: length of the file's path
      'buffer', // *const u8: notes
      'u32', // u32: length of the notes
      'u32', // u32: most MiB of the folder
      'buffer', // *mut u8: text
      'u32', // u32: capacity
    ],
    result: 'i32',
    nonblocking: true,
  },
  mayfly_program_notes: {
    parameters: [
      'i32', // i32: program
      'buffer', // *mut u8: bytes
      'u32', // u32: capacity
    ],
    result: 'i32',
  },
  mayfly_leave_scheduler: {
    parameters: [],
    result: 'i32',
  },
  mayfly_program_time: {
    parameters: [
      'i32', // i32: program
      'buffer', // *const u8: frame
      'u32', // u32: length
      'u32', // u32: time in milliseconds
      'buffer', // *mut u8: times
      'u32', // u32: capacity
    ],
    result: 'i32',
  },
  mayfly_program_free: {
    parameters: [
      'i32', // i32: program
    ],
    result: 'i32',
  },
  mayfly_pool_start: {
    parameters: [
      'u32', // u32: workers
      'u32', // u32: queue
      'u32', // u32: most requests with a channel of a program
      'u32', // u32: most requests with a channel
      'u32', // u32: MiB of those of a program that are parked
      'u32', // u32: MiB of those that are parked
      'buffer', // *const u8: key
      'u32', // u32: length of the key
    ],
    result: 'i32',
  },
  mayfly_pool_members: {
    parameters: [
      'i32', // i32: pool
    ],
    result: 'i32',
  },
  mayfly_pool_secret: {
    parameters: [
      'i32', // i32: pool
      'buffer', // *mut u8: bytes
      'u32', // u32: capacity
    ],
    result: 'i32',
  },
  mayfly_pool_prepared: {
    parameters: [
      'i32', // i32: pool
      'i32', // i32: program
    ],
    result: 'i32',
  },
  mayfly_pool_prepare: {
    parameters: [
      'i32', // i32: pool
      'i32', // i32: program
    ],
    result: 'i32',
  },
  mayfly_pool_drop_idle: {
    parameters: [
      'i32', // i32: pool
      'u32', // u32: least_ms
    ],
    result: 'i32',
  },
  mayfly_pool_retire: {
    parameters: [
      'i32', // i32: pool
      'i32', // i32: program
    ],
    result: 'i32',
  },
  mayfly_pool_statistics: {
    parameters: [
      'i32', // i32: pool
      'buffer', // *mut u8: text
      'u32', // u32: capacity
    ],
    result: 'i32',
  },
  mayfly_pool_stop: {
    parameters: [
      'i32', // i32: pool
    ],
    result: 'i32',
  },
  mayfly_pool_free: {
    parameters: [
      'i32', // i32: pool
    ],
    result: 'i32',
    nonblocking: true,
  },
  mayfly_submit: {
    parameters: [
      'i32', // i32: pool
      'i32', // i32: program
      'buffer', // *const u8: frame
      'u32', // u32: length
      'u32', // u32: timeout in microseconds
      'u32', // u32: flags
    ],
    result: 'i32',
  },
  mayfly_open: {
    parameters: [
      'i32', // i32: pool
      'i32', // i32: program
      'buffer', // *const u8: frame
      'u32', // u32: length
      'u32', // u32: timeout in microseconds
      'u32', // u32: flags
    ],
    result: 'i32',
  },
  mayfly_hear: {
    parameters: [
      'i32', // i32: pool
      'i32', // i32: ticket
      'buffer', // *mut u8: bytes
      'u32', // u32: capacity
    ],
    result: 'i32',
  },
  mayfly_say: {
    parameters: [
      'i32', // i32: pool
      'i32', // i32: ticket
      'buffer', // *const u8: message
      'u32', // u32: length
    ],
    result: 'i32',
  },
  mayfly_call_off: {
    parameters: [
      'i32', // i32: pool
      'i32', // i32: ticket
    ],
    result: 'i32',
  },
  mayfly_extend: {
    parameters: [
      'i32', // i32: pool
      'i32', // i32: ticket
      'u32', // u32: time in milliseconds
    ],
    result: 'i32',
  },
  mayfly_ask: {
    parameters: [
      'i32', // i32: pool
      'i32', // i32: program
      'buffer', // *const u8: frame
      'u32', // u32: length
      'u32', // u32: timeout in microseconds
      'u32', // u32: flags
      'u32', // u32: longest look in microseconds
      'buffer', // *mut Completion: completion
      'buffer', // *mut u8: answer
      'u32', // u32: capacity
    ],
    result: 'i32',
  },
  mayfly_wait: {
    parameters: [
      'i32', // i32: pool
      'buffer', // *mut Completion: completions
      'u32', // u32: capacity
      'u32', // u32: timeout in microseconds
    ],
    result: 'i32',
    nonblocking: true,
  },
  mayfly_read: {
    parameters: [
      'i32', // i32: pool
      'i32', // i32: ticket
      'u32', // u32: part
      'buffer', // *mut u8: bytes
      'u32', // u32: capacity
    ],
    result: 'i32',
  },
  mayfly_take: {
    parameters: [
      'i32', // i32: pool
      'i32', // i32: ticket
      'buffer', // *mut u8: bytes
      'u32', // u32: capacity
    ],
    result: 'i32',
  },
  mayfly_resets: {
    parameters: [
      'i32', // i32: pool
      'buffer', // *mut Reset: resets
      'u32', // u32: capacity
    ],
    result: 'i32',
  },
} as const satisfies Deno.ForeignLibraryInterface

/** They, and `mayfly_wait` once more, on the calling thread: for a time of 0, which does not wait. */
export const OPENED = {
  ...SYMBOLS,
  mayfly_look: {
    name: 'mayfly_wait',
    parameters: SYMBOLS.mayfly_wait.parameters,
    result: 'i32',
  },
} as const satisfies Deno.ForeignLibraryInterface

/** The library's functions, as Deno calls them. */
export type NativeSymbols = Deno.DynamicLibrary<typeof OPENED>['symbols']
