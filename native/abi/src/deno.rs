//! How stock Deno is started in a machine: by the framework, by `mayfly-vm bench` and by the native tests.

/// Arguments in front of the module: no configuration, no lock file, nothing fetched, and no permission unless more is said.
pub const DENO_ARGUMENTS: &[&str] = &[
    "run",
    "--no-prompt",
    "--cached-only",
    "--no-lock",
    "--no-config",
    "--no-npm",
    "--no-remote",
    "--no-check",
];

/// V8's flags. One thread, and no inlining in V8's middle tier: a hot loop that Maglev has inlined into a function that runs once a
/// request never reaches TurboFan (seen: 450 us instead of 120). Code of lower tiers counts how often it runs, in a cell of each
/// function, and so writes to one page after another: a warm-up of 1000 requests, which a handler's routes share, takes all of it to
/// TurboFan. Wanted are 3000 runs else, and 500 behind each shape that is new to a function. Fewer runs than these would make V8
/// compile in the middle of requests that are unlike the warm-up's, each time anew: docs/decisions/02-warm-up-while-it-helps.md.
pub const V8_FLAGS: &[&str] = &[
    "--single-threaded",
    "--no-maglev-inlining",
    "--invocation-count-for-maglev=100",
    "--invocation-count-for-turbofan=1000",
    "--minimum-invocations-after-ic-update=50",
];

/// Environment that keeps Deno from looking for folders and servers: there are none in a guest.
pub const DENO_ENVIRONMENT: &[&str] = &[
    "HOME=/nonexistent",
    "DENO_DIR=/nonexistent",
    "DENO_NO_UPDATE_CHECK=1",
    "NO_COLOR=1",
];
