/**
 * The browser's reload after a save, in development only: pages get a script, which listens to what is served now and loads the page again
 * when that changed. An error of a broken version is shown as text over the page, which still has the last good version.
 *
 *   file saved -> routes or views in place -> publish -> each page: another version? reload : show the fault
 */
import { escape } from '@std/html'
import type { RequestContext } from '../../context/context.ts'
import { toEventText } from '../../context/stream.ts'
import { RELOAD_SCRIPT } from './reload_script.ts'

/** Where the script and its events are; names with `_` are no routes. */
const SCRIPT_PATH = '/_mayfly/reload.js'
const EVENTS_PATH = '/_mayfly/reload'

/** Most pages that listen at a time; a further one takes the place of the oldest. */
const MOST_PAGES = 64

/** The message to pages. */
interface Served {
  /** Another one for each server and each change. */
  readonly version: string
  /** What does not load, each as one text. */
  readonly faults: readonly string[]
}

/** The pages that listen, and what they know. */
export interface LiveReload {
  readonly start: string
  changes: number
  /** Why files do not load, by file. */
  readonly faults: Map<string, string>
  readonly pages: Set<ReadableStreamDefaultController<Uint8Array>>
  /** Requests whose response has the script already. */
  readonly marked: WeakSet<RequestContext>
}

const encoder = new TextEncoder()

/** Nobody listens yet. */
export function createLiveReload(): LiveReload {
  return {
    start: crypto.randomUUID(),
    changes: 0,
    faults: new Map(),
    pages: new Set(),
    marked: new WeakSet(),
  }
}

/** Something else is served from now on. */
export function noteChange(live: LiveReload): void {
  live.changes++
}

/** Sends every page the version that is served now. */
export function publish(live: LiveReload): void {
  const text = encoder.encode(toMessage(live))
  for (const page of live.pages) page.enqueue(text)
}

/** Ends the events, so that they hold no shutdown up. */
export function closeLiveReload(live: LiveReload): void {
  for (const page of live.pages) page.close()
  live.pages.clear()
}

/** The answer to the script's own requests; null for all others. */
export function answerReload(live: LiveReload, { method, pathname }: RequestContext): Response | null {
  if (!pathname.startsWith('/_mayfly/') || method !== 'GET') return null
  if (pathname === SCRIPT_PATH) {
    const headers = { 'content-type': 'text/javascript; charset=utf-8', 'cache-control': 'no-store' }
    return new Response(RELOAD_SCRIPT, { headers })
  }
  if (pathname !== EVENTS_PATH) return null
  const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' }
  return new Response(openEvents(live), { headers })
}

function openEvents(live: LiveReload): ReadableStream<Uint8Array> {
  let own: ReadableStreamDefaultController<Uint8Array>
  return new ReadableStream({
    start(controller) {
      own = controller
      const [first] = live.pages.size < MOST_PAGES ? [] : live.pages
      if (first !== undefined) {
        first.close()
        live.pages.delete(first)
      }
      live.pages.add(controller)
      controller.enqueue(encoder.encode(toMessage(live)))
    },
    cancel() {
      live.pages.delete(own)
    },
  })
}

function toMessage({ start, changes, faults }: LiveReload): string {
  const served: Served = { version: `${start}.${changes}`, faults: [...faults.values()] }
  return toEventText({ data: served })
}

/**
 * The response with the script at its end, where it is a page that a browser shows. With the nonce of `securityHeaders` a content security
 * policy lets it in; one that allows neither that nor `script-src 'self'` and `connect-src 'self'` keeps it out, and pages do not reload.
 */
export function withReloadScript(live: LiveReload, ctx: RequestContext, response: Response): Response {
  if (live.marked.has(ctx) || !isShown(ctx.request.headers) || !isWholePage(response)) return response
  live.marked.add(ctx)
  const nonce = ctx.bag?.nonce === undefined ? '' : ` nonce="${escape(ctx.bag.nonce)}"`
  const script = encoder.encode(`<script src="${SCRIPT_PATH}"${nonce} async></script>`)
  const body = response.body!.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({ flush: (controller) => controller.enqueue(script) }),
  )
  const marked = new Response(body, response)
  const length = marked.headers.get('content-length')
  if (length !== null) marked.headers.set('content-length', String(Number(length) + script.length))
  return marked
}

/** True for a request by which a browser opens a page, and not for what a script or a program asks for. */
function isShown(headers: Headers): boolean {
  const mode = headers.get('sec-fetch-mode')
  if (mode !== null) return mode === 'navigate'
  return headers.get('accept')?.includes('text/html') ?? false
}

function isWholePage({ status, body, headers }: Response): boolean {
  return body !== null && status !== 206 && headers.get('content-type')?.startsWith('text/html') === true &&
    !headers.has('content-encoding')
}
