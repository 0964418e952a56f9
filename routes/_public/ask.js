/** Asks isolated routes for the pages that show them. */

/** The longest wait for an answer. */
const TIMEOUT_MS = 60_000
const STARTING_MS = 500

/** What the machines do, and their last requests, newest first. */
export async function machines() {
  const response = await fetch('/isolated/runs', { cache: 'no-store', signal: AbortSignal.timeout(5000) })
  if (!response.ok) throw new Error(`/isolated/runs answers ${response.status}`)
  return await response.json()
}

/** The answer at `href`: status, text, milliseconds. While the machines start it waits, and asks again. */
export async function ask(href, signal) {
  const limit = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(signal ? [signal] : [])])
  for (;;) {
    const begin = performance.now()
    const response = await fetch(href, {
      headers: { accept: 'application/json' },
      cache: 'no-store',
      signal: limit,
    })
    const text = await response.text()
    const ms = performance.now() - begin
    if (response.status !== 503 || !text.includes('"isolation-starting"')) {
      return { status: response.status, statusText: response.statusText, ok: response.ok, text, ms }
    }
    limit.throwIfAborted()
    await new Promise((resolve) => setTimeout(resolve, STARTING_MS))
  }
}
