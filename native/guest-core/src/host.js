// Makes the host object out of deno_core's own; what is not in it cannot be reached afterwards.
;((globalThis) => {
  const { Deno: { core }, queueMicrotask } = globalThis
  const { ops } = core
  const timers = new Map()
  const TIMEOUT_MAX = 2 ** 31 - 1
  let nextTimer = 1
  let uncaught = core.reportUnhandledException

  function startTimer(callback, ms, repeat) {
    const id = nextTimer++
    const after = ms >= 1 && ms <= TIMEOUT_MAX ? ms : 1
    const timer = { handle: 0, due: ops.op_mayfly_monotonic_ms() + after }
    const run = () => {
      if (!repeat) timers.delete(id)
      else timer.due = ops.op_mayfly_monotonic_ms() + after
      callback()
    }
    timer.handle = repeat
      ? core.createSystemInterval(run, after, true)
      : core.createSystemTimer(run, after, true)
    timers.set(id, timer)
    return id
  }

  /** Milliseconds until the next timer, -1 without one. */
  function untilTimer() {
    let due = Infinity
    for (const timer of timers.values()) due = Math.min(due, timer.due)
    return due === Infinity ? -1 : Math.max(0, due - ops.op_mayfly_monotonic_ms())
  }

  function stopTimer(id) {
    const timer = timers.get(id)
    if (timer === undefined) return
    timers.delete(id)
    core.cancelTimer(timer.handle)
  }

  globalThis.__mayfly = {
    receive: ops.op_mayfly_receive,
    keepHeader: ops.op_mayfly_keep_header,
    sendKept: ops.op_mayfly_send_kept,
    sendText: ops.op_mayfly_send_text,
    sendBytes: ops.op_mayfly_send_bytes,
    say: ops.op_mayfly_say,
    hear: ops.op_mayfly_hear,
    untilTimer,
    log: ops.op_mayfly_log,
    exit: ops.op_mayfly_exit,
    defineModule: ops.op_mayfly_define_module,
    // Of QuickJS alone.
    runModule: globalThis.__mayflyRunModule ?? (() => undefined),
    entropy: ops.op_mayfly_entropy,
    settleBase: ops.op_mayfly_settle_base,
    settleProgram: ops.op_mayfly_settle_program,
    limitMemory: ops.op_mayfly_memory_limit,
    variables: ops.op_mayfly_variables,
    realMs: ops.op_mayfly_real_ms,
    monotonicMs: ops.op_mayfly_monotonic_ms,
    startTimer,
    stopTimer,
    microtask: (fn) =>
      queueMicrotask(() => {
        try {
          fn()
        } catch (error) {
          uncaught(error)
        }
      }),
    onIdle: ops.op_mayfly_on_idle,
    onUnhandledRejection: (fn) =>
      core.setUnhandledPromiseRejectionHandler((promise, reason) => fn(reason, promise)),
    onUncaught: (fn) => {
      uncaught = (error) => {
        if (!fn(error)) core.reportUnhandledException(error)
      }
      core.setReportExceptionCallback(uncaught)
    },
    encode: ops.op_mayfly_encode,
    encodeInto: ops.op_mayfly_encode_into,
    decodeUtf8: ops.op_mayfly_decode_utf8,
    encodingName: ops.op_mayfly_encoding_name,
    decoderNew: ops.op_mayfly_decoder_new,
    decoderPush: ops.op_mayfly_decoder_push,
    decoderFree: ops.op_mayfly_decoder_free,
    parseUrl: ops.op_mayfly_parse_url,
    setUrl: ops.op_mayfly_set_url,
    parseQuery: ops.op_mayfly_parse_query,
    formatQuery: ops.op_mayfly_format_query,
    digest: ops.op_mayfly_digest,
    atob: ops.op_mayfly_atob,
    btoa: ops.op_mayfly_btoa,
    promiseState: (promise) => core.getPromiseDetails(promise)[0],
    promiseValue: (promise) => core.getPromiseDetails(promise)[1],
    proxyTarget: (value) => core.getProxyDetails(value)?.[0],
  }
  // The engine's own ways in, and what it has in parts only.
  const gone = ['Deno', '__bootstrap', 'gc', 'Intl', 'Temporal', 'WebAssembly', 'ShadowRealm']
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    if (gone.includes(name) || name.startsWith('__v8x') || name === '__mayflyRunModule') {
      delete globalThis[name]
    }
  }
})(globalThis)
