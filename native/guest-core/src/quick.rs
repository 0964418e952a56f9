//! A module that imports nothing, run by QuickJS itself.
//!
//! `deno_core` loads modules as V8 has it: a graph, futures, a table of all modules that every evaluation goes through, and some ten turns
//! of the event loop. Code that a sandbox runs once mostly is one module without imports, and needs none of that.

use std::ffi::{c_char, c_int, c_void};

use deno_core::v8;

/// A value of QuickJS, as `quickjs.h` has it where pointers have 64 bits.
#[repr(C)]
#[derive(Clone, Copy)]
struct Value {
    content: u64,
    tag: i64,
}

/// `JSContext`, whose members nobody here reads.
enum Context {}

type Function = unsafe extern "C" fn(*mut Context, Value, c_int, *mut Value) -> Value;

const TAG_MODULE: i64 = -3;
const TAG_UNDEFINED: i64 = 3;
const TAG_EXCEPTION: i64 = 6;
/// What the engine's crate makes of a context for V8's interface.
const TAG_CONTEXT: i64 = 0x7632;
/// `JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY`.
const COMPILE_MODULE: c_int = 1 | 1 << 5;
const UNDEFINED: Value = Value {
    content: 0,
    tag: TAG_UNDEFINED,
};

unsafe extern "C" {
    fn JS_GetGlobalObject(context: *mut Context) -> Value;
    fn JS_FreeValue(context: *mut Context, value: Value);
    fn JS_ToCStringLen2(
        context: *mut Context,
        length: *mut usize,
        value: Value,
        cesu8: bool,
    ) -> *const c_char;
    fn JS_FreeCString(context: *mut Context, text: *const c_char);
    fn JS_NewArray(context: *mut Context) -> Value;
    fn JS_SetPropertyStr(context: *mut Context, object: Value, name: *const c_char, value: Value) -> c_int;
    fn JS_SetPropertyUint32(context: *mut Context, object: Value, index: u32, value: Value) -> c_int;
    fn JS_NewCFunction2(
        context: *mut Context,
        function: Function,
        name: *const c_char,
        length: c_int,
        kind: c_int,
        magic: c_int,
    ) -> Value;
    fn JS_Eval(
        context: *mut Context,
        text: *const c_char,
        length: usize,
        name: *const c_char,
        flags: c_int,
    ) -> Value;
    fn JS_EvalFunction(context: *mut Context, function: Value) -> Value;
    fn JS_GetModuleNamespace(context: *mut Context, module: *mut c_void) -> Value;
    fn JS_GetException(context: *mut Context) -> Value;
}

/// Makes the global function `__mayflyRunModule(url, code)`, which `host.js` takes away. It gives the namespace and the promise of the
/// evaluation, or undefined for a module that only the loader can load: one that may import, or is not to be compiled.
pub fn install(scope: &mut v8::PinScope<'_, '_>) -> Result<(), String> {
    let handle = scope.get_current_context();
    // SAFETY: a handle of the engine's crate points to a value of QuickJS, which lives as long as the scope.
    let value = unsafe { *(&raw const *handle).cast::<Value>() };
    if value.tag != TAG_CONTEXT {
        return Err(format!(
            "the context is a value of the kind {}, wanted {TAG_CONTEXT}",
            value.tag
        ));
    }
    let context = value.content as *mut Context;
    // SAFETY: the context is alive, the names are C's texts, and the property takes the function over.
    let set = unsafe {
        let global = JS_GetGlobalObject(context);
        let function = JS_NewCFunction2(context, run_module, c"runModule".as_ptr(), 2, 0, 0);
        let set = JS_SetPropertyStr(context, global, c"__mayflyRunModule".as_ptr(), function);
        JS_FreeValue(context, global);
        set
    };
    if set < 0 {
        return Err("cannot make the function that runs modules".to_owned());
    }
    Ok(())
}

unsafe extern "C" fn run_module(
    context: *mut Context,
    _this: Value,
    count: c_int,
    arguments: *mut Value,
) -> Value {
    if count < 2 {
        return UNDEFINED;
    }
    let (mut url_bytes, mut code_bytes) = (0, 0);
    // SAFETY: there are two arguments; texts are given back below, and end with a zero byte that does not count.
    unsafe {
        let url = JS_ToCStringLen2(context, &raw mut url_bytes, *arguments, false);
        let code = JS_ToCStringLen2(context, &raw mut code_bytes, *arguments.add(1), false);
        let given = if url.is_null() || code.is_null() {
            forget_error(context);
            UNDEFINED
        } else if may_import(std::slice::from_raw_parts(code.cast(), code_bytes)) {
            UNDEFINED
        } else {
            run(context, url, code, code_bytes)
        };
        for text in [url, code] {
            if !text.is_null() {
                JS_FreeCString(context, text);
            }
        }
        given
    }
}

/// `url` and `code` end with a zero byte.
unsafe fn run(context: *mut Context, url: *const c_char, code: *const c_char, bytes: usize) -> Value {
    // SAFETY: the context is alive. A module belongs to it for ever, `JS_EvalFunction` takes the other hold over, and the array takes
    // what is put into it.
    unsafe {
        let module = JS_Eval(context, code, bytes, url, COMPILE_MODULE);
        if module.tag != TAG_MODULE {
            // The loader tells what is wrong, in its words.
            if module.tag == TAG_EXCEPTION {
                forget_error(context);
            }
            return UNDEFINED;
        }
        let promise = JS_EvalFunction(context, module);
        if promise.tag == TAG_EXCEPTION {
            return promise;
        }
        let namespace = JS_GetModuleNamespace(context, module.content as *mut c_void);
        if namespace.tag == TAG_EXCEPTION {
            JS_FreeValue(context, promise);
            return namespace;
        }
        let pair = JS_NewArray(context);
        JS_SetPropertyUint32(context, pair, 0, namespace);
        JS_SetPropertyUint32(context, pair, 1, promise);
        pair
    }
}

unsafe fn forget_error(context: *mut Context) {
    // SAFETY: the context is alive; the error is ours.
    unsafe { JS_FreeValue(context, JS_GetException(context)) };
}

/// Whether a text may have an import, or an export of another module: it has the word `import`, or `from` other than behind a dot. No
/// keyword can be written with escapes.
fn may_import(code: &[u8]) -> bool {
    let has = |at: usize, word: &[u8]| code[at..].starts_with(word);
    (0..code.len()).any(|at| match code[at] {
        b'i' => has(at, b"import"),
        b'f' => has(at, b"from") && (at == 0 || code[at - 1] != b'.'),
        _ => false,
    })
}
