import type { ProcessErrorOrigin } from '../events/kinds.ts'

/**
 * Keeps one stray promise or timer of one request from ending the server for all: while it serves, an error that nobody
 * caught is reported and survived. Gives the function that ends the watch.
 */
export function watchProcessErrors(report: (origin: ProcessErrorOrigin, error: unknown) => void): () => void {
  const onRejection = (event: PromiseRejectionEvent) => {
    event.preventDefault()
    report('unhandledrejection', event.reason)
  }
  const onError = (event: ErrorEvent) => {
    event.preventDefault()
    report('uncaughterror', event.error)
  }
  globalThis.addEventListener('unhandledrejection', onRejection)
  globalThis.addEventListener('error', onError)
  return () => {
    globalThis.removeEventListener('unhandledrejection', onRejection)
    globalThis.removeEventListener('error', onError)
  }
}
