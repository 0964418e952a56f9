/** The server with one listener that does nothing. On PORT or 8000. */
import { createSite } from './site.ts'

const router = createSite()
router.on(() => {})
export default router

if (import.meta.main) await router.serve()
