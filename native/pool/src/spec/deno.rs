//! The stock `deno` binary as a program.

use std::path::Path;

use mayfly_abi::deno::{DENO_ARGUMENTS, DENO_ENVIRONMENT, V8_FLAGS};

use crate::spec::libraries::library_mounts;
use crate::spec::mount::Mount;
use crate::spec::{Limits, Spec};

/// Where the guest sees the binary.
const BINARY: &str = "/bin/deno";
/// Where the guest sees the bundle.
const BUNDLE: &str = "/app/main.js";

/// Runs a bundled JavaScript module under the unmodified `deno` binary: no permission, no configuration, no cache, no network. The module reads frames from fd 0 and writes frames to fd 1.
pub fn deno_spec(binary: &Path, bundle: Vec<u8>, limits: Limits) -> Spec {
    let mut arguments = vec!["deno".to_owned()];
    arguments.extend(DENO_ARGUMENTS.iter().copied().map(str::to_owned));
    arguments.push(format!("--v8-flags={}", V8_FLAGS.join(",")));
    arguments.push(BUNDLE.into());
    let mut mounts = library_mounts(binary);
    mounts.push(Mount::host(BINARY, binary));
    mounts.push(Mount::bytes(BUNDLE, bundle));
    Spec {
        path: BINARY.into(),
        arguments,
        environment: DENO_ENVIRONMENT.iter().copied().map(str::to_owned).collect(),
        mounts,
        folder: "/app".into(),
        writable: None,
        reseed: false,
        last: None,
        clock_grain_ns: 0,
        limits,
    }
}
