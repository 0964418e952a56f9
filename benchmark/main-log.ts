/** The server with one listener that does nothing. On PORT or 8000. */
import { createSite } from './site.ts'

export const router = createSite()
router.on(() => {})

if (import.meta.main) await router.serve()
