/** Tries again to open the machines that could not be opened: what was in the way may be gone. */
import { NativeBuildError } from '../../isolate/machines/errors.ts'

/** A build takes minutes of the CPU, and what it lacks rarely comes by itself: its first pause is that many times as long. */
const BUILD_FACTOR = 60
/** The longest pause is that many times the first. */
const LONGEST_FACTOR = 600

/**
 * Calls `open` until it resolves, with a pause before each attempt: `firstMs` (sixty times as long after a failed build), then twice as
 * long each time, six hundred times at most. Null once `signal` is aborted. Pauses keep no process alive.
 */
export async function openLater<T>(
  open: () => Promise<T>,
  error: Error,
  signal: AbortSignal,
  firstMs: number,
): Promise<T | null> {
  for (let attempt = 0;; attempt++) {
    const factor = (error instanceof NativeBuildError ? BUILD_FACTOR : 1) * 2 ** attempt
    await pause(firstMs * Math.min(factor, LONGEST_FACTOR), signal)
    if (signal.aborted) return null
    try {
      return await open()
    } catch (failure) {
      if (signal.aborted) return null
      error = failure as Error
    }
  }
}

/** Resolves after a time, or when the signal is aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    Deno.unrefTimer(timer)
    if (signal.aborted) end()
    else signal.addEventListener('abort', end)
  })
}
