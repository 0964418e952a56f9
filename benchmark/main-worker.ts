/** The server with a worker on each core; the queue takes all of `autocannon -c 500 -p 10`. On PORT or 8000. */
import { createSite } from './site.ts'

export const router = createSite({
  worker: {
    scriptURL: new URL('./worker.ts', import.meta.url),
    poolSize: navigator.hardwareConcurrency,
    maxQueueDepth: 10_000,
  },
})

if (import.meta.main) await router.serve()
