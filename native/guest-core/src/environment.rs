//! The environment: the program's, kept apart from what the engine reads in it.

use std::sync::OnceLock;

static VARIABLES: OnceLock<Vec<(String, String)>> = OnceLock::new();

/// What the engine reads: no files of its own, and no WebAssembly, which would cost every start its set-up.
const ENGINE: [(&str, &str); 2] = [("V82JSC_NO_BC_CACHE", "1"), ("QJS_NO_WASM", "1")];

/// Keeps the variables for the program and leaves the engine its own. Before anything else, as long as there is one thread.
pub fn take() {
    let variables: Vec<_> = std::env::vars_os().collect();
    for (name, _) in &variables {
        // SAFETY: the process has one thread.
        unsafe { std::env::remove_var(name) };
    }
    for (name, value) in ENGINE {
        // SAFETY: the process has one thread.
        unsafe { std::env::set_var(name, value) };
    }
    let texts = variables
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    VARIABLES.get_or_init(|| texts.collect());
}

/// The variables whose names and values are valid text.
pub fn variables() -> Vec<(String, String)> {
    VARIABLES.get().cloned().unwrap_or_default()
}
