const SIGNALS: readonly Deno.Signal[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Calls `stop` with the signal's name on SIGINT, SIGTERM and SIGHUP; gives the function that ends it. */
export function watchSignals(stop: (signal: Deno.Signal) => void): () => void {
  const listeners = SIGNALS.map((signal) => ({ signal, listener: () => stop(signal) }))
  const added: typeof listeners = []
  for (const entry of listeners) {
    // Windows knows no SIGHUP and SIGTERM; the others still count there.
    if (Deno.build.os === 'windows' && entry.signal !== 'SIGINT') continue
    Deno.addSignalListener(entry.signal, entry.listener)
    added.push(entry)
  }
  return () => {
    for (const { signal, listener } of added) Deno.removeSignalListener(signal, listener)
  }
}
