//! The process itself: its end, its entropy, its memory, its environment, the modules that it was sent.

use deno_core::{OpState, op2, v8};
use deno_error::JsErrorBox;

use crate::load::Texts;

/// The function that is called when nothing is left to do.
pub struct Idle(pub v8::Global<v8::Function>);

/// Keeps the function that is called when nothing is left to do; true from it goes on.
#[op2]
pub fn op_mayfly_on_idle(state: &mut OpState, #[scoped] idle: v8::Global<v8::Function>) {
    state.put(Idle(idle));
}

/// Ends the process.
#[op2(fast)]
pub fn op_mayfly_exit(code: i32) {
    std::process::exit(code)
}

/// Fills `into` from the kernel.
#[op2]
pub fn op_mayfly_entropy(#[anybuffer] into: &mut [u8]) -> Result<(), JsErrorBox> {
    let mut filled = 0;
    while filled < into.len() {
        let rest = &mut into[filled..];
        // SAFETY: `rest` is valid for writes of its length.
        let count = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        match usize::try_from(count) {
            Ok(count) => filled += count,
            Err(_) => {
                let error = std::io::Error::last_os_error();
                if error.kind() != std::io::ErrorKind::Interrupted {
                    return Err(JsErrorBox::generic(format!(
                        "Cannot draw {} bytes of entropy: {error}",
                        into.len()
                    )));
                }
            }
        }
    }
    Ok(())
}

/// Sets how many bytes the heap may have from now on.
#[op2(fast)]
pub fn op_mayfly_memory_limit(bytes: f64) {
    crate::memory::set_limit(bytes as usize);
}

/// What a program may take before its garbage is looked for: a collection writes to every object, those of the base as well.
const UNCOLLECTED: usize = 1 << 20;

/// Keeps the next collection far off; what requests make lies together from then on.
#[op2(fast)]
pub fn op_mayfly_settle_program(isolate: &mut v8::Isolate) {
    if crate::heap::grown() > UNCOLLECTED {
        isolate.low_memory_notification();
    }
    crate::heap::mark();
}

/// Makes what comes lie apart from what is there, garbage gone: the last thing before the instant from which many programs go on.
#[op2(fast)]
pub fn op_mayfly_settle_base(isolate: &mut v8::Isolate) {
    isolate.low_memory_notification();
    crate::heap::mark();
}

/// The variables of the environment, as pairs.
#[op2]
#[serde]
pub fn op_mayfly_variables() -> Vec<(String, String)> {
    crate::environment::variables()
}

/// Makes `code` the module at `url`, which imports find as `name` too; `json` is the module for an import that wants JSON.
#[op2]
pub fn op_mayfly_define_module(
    state: &mut OpState,
    #[string] name: String,
    #[string] url: &str,
    #[string] code: String,
    #[string] json: Option<String>,
) -> Result<(), JsErrorBox> {
    let texts = state.borrow::<Texts>();
    texts
        .define(name, url, code, json)
        .map_err(JsErrorBox::type_error)
}
