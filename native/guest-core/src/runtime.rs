//! The engine with the host object in it, and the loop around it.

use std::rc::Rc;

use deno_core::{JsRuntime, PollEventLoopOptions, RuntimeOptions, v8};

use crate::load::{GuestFiles, Texts, to_specifier};
use crate::{heap, memory, ops};

/// Runs the surface, then the module `main`, until nothing is left to do.
pub fn run(surface: &str, main: &str) -> Result<(), String> {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let tokio = tokio.map_err(|error| format!("cannot make an event loop: {error}"))?;
    tokio.block_on(async {
        let mut runtime = create()?;
        heap::next_phase();
        let surface = to_specifier(surface)?;
        let loaded = runtime
            .load_side_es_module(&surface)
            .await
            .map_err(|error| error.to_string())?;
        evaluate(&mut runtime, loaded).await?;
        runtime.v8_isolate().low_memory_notification();
        heap::next_phase();
        let main = to_specifier(main)?;
        let loaded = runtime
            .load_main_es_module(&main)
            .await
            .map_err(|error| error.to_string())?;
        evaluate(&mut runtime, loaded).await?;
        while call_idle(&mut runtime)? {
            run_events(&mut runtime).await?;
        }
        Ok(())
    })
}

fn create() -> Result<JsRuntime, String> {
    let texts = Texts::default();
    let mut runtime = JsRuntime::try_new(RuntimeOptions {
        module_loader: Some(Rc::new(GuestFiles(texts.clone()))),
        extensions: vec![ops::mayfly_guest::init()],
        create_params: Some(v8::CreateParams::default().heap_limits(0, memory::START_BYTES)),
        is_main: true,
        ..Default::default()
    })
    .map_err(|error| format!("cannot make an engine: {error}"))?;
    runtime.op_state().borrow_mut().put(texts);
    heap::next_phase();
    #[cfg(feature = "quickjs")]
    {
        deno_core::scope!(scope, &mut runtime);
        crate::quick::install(scope)?;
    }
    runtime.add_near_heap_limit_callback(|current, _initial| memory::near_limit(current));
    runtime
        .execute_script("mayfly:host", include_str!("host.js"))
        .map_err(|error| error.to_string())?;
    Ok(runtime)
}

async fn evaluate(runtime: &mut JsRuntime, module: usize) -> Result<(), String> {
    let evaluation = runtime.mod_evaluate(module);
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
