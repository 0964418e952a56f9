/** Runs a template's generator as fast as its reader asks, and no faster. */
import type { StreamFunction } from './compile.ts'
import type { RenderState } from './state.ts'

/** What to do when a stream ends. Exactly one is called, once. */
export interface StreamEnd {
  readonly onDone: () => void
  /** Gets what was thrown and gives the error that the reader shall see. */
  readonly onError: (error: unknown) => unknown
}

/**
 * The rendered page as UTF-8. Nothing is queued: a chunk is made when the reader asks for one. A failure errors the stream,
 * so that a page that broke off never looks whole; cancelling it closes the template's loops and their generators.
 */
export function openStream(
  run: StreamFunction,
  state: RenderState,
  data: unknown,
  end: StreamEnd,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder()
  const page = run(state, data)
  let waiting: Promise<void> | undefined
  let isCancelled = false

  function takeOutput(isLast: boolean): Uint8Array<ArrayBuffer> | null {
    let text = state.output
    let rest = ''
    // Half of a surrogate pair waits for the other half.
    const code = text.charCodeAt(text.length - 1)
    if (!isLast && code >= 0xd800 && code <= 0xdbff) {
      rest = text.slice(-1)
      text = text.slice(0, -1)
    }
    state.output = rest
    state.sent += text.length
    return text === '' ? null : encoder.encode(text)
  }

  async function pull(controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): Promise<void> {
    try {
      for (;;) {
        if (waiting !== undefined) {
          const promise = waiting
          waiting = undefined
          await promise
          if (isCancelled) return
        }
        const { done, value } = page.next()
        if (value !== undefined) {
          waiting = value
          // Handled where it is awaited, perhaps only when the reader comes back.
          value.catch(() => {})
        }
        const chunk = takeOutput(done === true)
        if (chunk !== null) controller.enqueue(chunk)
        if (done) {
          controller.close()
          end.onDone()
          return
        }
        if (chunk !== null) return
      }
    } catch (error) {
      if (isCancelled) return
      controller.error(end.onError(error))
      closePage()
    }
  }

  function closePage(): void {
    state.output = ''
    try {
      page.return()
    } catch {
      // A generator of the data failed while it was closed; the stream has its end already.
    }
  }

  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull,
    cancel() {
      isCancelled = true
      closePage()
    },
  }, { highWaterMark: 0 })
}
