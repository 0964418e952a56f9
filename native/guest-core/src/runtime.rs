//! The engine with the host object in it, and the loop around it.

use std::fs::File;
use std::os::fd::AsFd;
use std::rc::Rc;

use deno_core::{FastString, JsRuntime, ModuleSpecifier, PollEventLoopOptions, RuntimeOptions, v8};

use crate::load::{NothingElse, read_module, read_name};
use crate::{memory, ops};

/// Runs the surface, then the program that is named by `program` or else by the first frame, until it ends.
pub fn run(surface: &str, program: Option<String>) -> Result<(), String> {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let tokio = tokio.map_err(|error| format!("cannot make an event loop: {error}"))?;
    tokio.block_on(async {
        let mut runtime = create()?;
        let (specifier, text) = read_module(surface)?;
        evaluate(&mut runtime, &specifier, text, false).await?;
        collect_garbage(&mut runtime);
        let path = match program {
            Some(path) => path,
            None => match wait_for_name()? {
                Some(path) => path,
                None => return Ok(()),
            },
        };
        let (specifier, text) = read_module(&path)?;
        evaluate(&mut runtime, &specifier, text, true).await?;
        while call_idle(&mut runtime)? {
            run_events(&mut runtime).await?;
        }
        Ok(())
    })
}

/// Waits on fd 0, without a buffer: what follows the frame is the program's.
fn wait_for_name() -> Result<Option<String>, String> {
    let input = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(|error| format!("cannot use the standard input: {error}"))?;
    read_name(&mut File::from(input))
}

fn create() -> Result<JsRuntime, String> {
    let mut runtime = JsRuntime::try_new(RuntimeOptions {
        module_loader: Some(Rc::new(NothingElse)),
        extensions: vec![ops::mayfly_guest::init()],
        create_params: Some(v8::CreateParams::default().heap_limits(0, memory::START_BYTES)),
        is_main: true,
        ..Default::default()
    })
    .map_err(|error| format!("cannot make an engine: {error}"))?;
    runtime.add_near_heap_limit_callback(|current, _initial| memory::near_limit(current));
    runtime
        .execute_script("mayfly:host", include_str!("host.js"))
        .map_err(|error| error.to_string())?;
    Ok(runtime)
}

async fn evaluate(
    runtime: &mut JsRuntime,
    specifier: &ModuleSpecifier,
    text: String,
    main: bool,
) -> Result<(), String> {
    let code = FastString::from(text);
    let loaded = if main {
        runtime.load_main_es_module_from_code(specifier, code).await
    } else {
        runtime.load_side_es_module_from_code(specifier, code).await
    };
    let evaluation = runtime.mod_evaluate(loaded.map_err(|error| error.to_string())?);
    run_events(runtime).await?;
    evaluation.await.map_err(|error| error.to_string())
}

async fn run_events(runtime: &mut JsRuntime) -> Result<(), String> {
    runtime
        .run_event_loop(PollEventLoopOptions::default())
        .await
        .map_err(|error| error.to_string())
}

/// Asks the program whether it has made new work now that it has none.
fn call_idle(runtime: &mut JsRuntime) -> Result<bool, String> {
    let idle = runtime
        .op_state()
        .borrow()
        .try_borrow::<ops::Idle>()
        .map(|idle| idle.0.clone());
    let Some(idle) = idle else { return Ok(false) };
    deno_core::scope!(scope, runtime);
    v8::tc_scope!(scope, scope);
    let undefined = v8::undefined(scope).into();
    let idle = v8::Local::new(scope, idle);
    match idle.call(scope, undefined, &[]) {
        Some(value) => Ok(value.is_true()),
        None => Err("the program's idle function threw".to_owned()),
    }
}

/// What start-up left behind is gone before any snapshot, and the next collection is far off.
fn collect_garbage(runtime: &mut JsRuntime) {
    runtime.v8_isolate().low_memory_notification();
}
