/** The plain server: no pool, no listener. On PORT or 8000. */
import { createSite } from './site.ts'

export const router = createSite()

if (import.meta.main) await router.serve()
