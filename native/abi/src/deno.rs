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
/// TurboFan (wanted are 400 and 3000 runs else, seen with a hello: 36 pages in place of 27).
pub const V8_FLAGS: &[&str] = &[
    "--single-threaded",
    "--no-maglev-inlining",
    "--invocation-count-for-maglev=100",
    "--invocation-count-for-turbofan=200",
];

/// Environment that keeps Deno from looking for folders and servers: there are none in a guest.
pub const DENO_ENVIRONMENT: &[&str] = &[
    "HOME=/nonexistent",
    "DENO_DIR=/nonexistent",
    "DENO_NO_UPDATE_CHECK=1",
    "NO_COLOR=1",
];
