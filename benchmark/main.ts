/** The plain server: no pool, no listener. On PORT or 8000. */
import { createSite } from './site.ts'

const router = createSite()
export default router

if (import.meta.main) await router.serve()
