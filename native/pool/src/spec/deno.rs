//! The stock `deno` binary as a program.

use std::path::Path;

use crate::spec::libraries::library_mounts;
use crate::spec::mount::Mount;
use crate::spec::{Limits, Spec};

/// Where the guest sees the binary.
const BINARY: &str = "/bin/deno";
/// Where the guest sees the bundle.
const BUNDLE: &str = "/app/main.js";

/// As the framework has them (`V8_FLAGS` of src/isolate/plan/program.ts, which says why).
const V8_FLAGS: &str = "--v8-flags=--single-threaded,--no-maglev-inlining,--invocation-count-for-maglev=100,--invocation-count-for-turbofan=200";

/// Runs a bundled JavaScript module under the unmodified `deno` binary: no permission, no configuration, no cache, no network. The module reads frames from fd 0 and writes frames to fd 1.
pub fn deno_spec(binary: &Path, bundle: Vec<u8>, limits: Limits) -> Spec {
    let flags = [
        "run",
        "--no-prompt",
        "--cached-only",
        "--no-lock",
        "--no-config",
        "--no-npm",
        "--no-remote",
        "--no-check",
        V8_FLAGS,
    ];
    let mut arguments = vec!["deno".to_owned()];
    arguments.extend(flags.map(str::to_owned));
    arguments.push(BUNDLE.into());
    let environment = [
        "HOME=/nonexistent",
        "DENO_DIR=/nonexistent/deno",
        "DENO_NO_UPDATE_CHECK=1",
        "NO_COLOR=1",
        "LANG=C",
    ];
    let mut mounts = library_mounts(binary);
    mounts.push(Mount::host(BINARY, binary));
    mounts.push(Mount::bytes(BUNDLE, bundle));
    Spec {
        path: BINARY.into(),
        arguments,
        environment: environment.map(str::to_owned).into(),
        mounts,
        folder: "/app".into(),
        writable: None,
        reseed: false,
        last: None,
        clock_grain_ns: 0,
        limits,
    }
}
