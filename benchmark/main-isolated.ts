/** The server whose isolated routes run in virtual machines. On PORT or 8000. */
import { createSite } from './site.ts'

export const router = createSite({
  isolate: { vms: navigator.hardwareConcurrency, queue: 10_000 },
})

if (import.meta.main) await router.serve()
