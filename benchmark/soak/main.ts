/** The server of the soak and of the neighbours: isolated routes, plain and hostile. On PORT. */
import { Router } from '@mayfly/mayfly'
import { fromFileUrl } from '@std/path'

const router = new Router({
  routesDir: fromFileUrl(new URL('./routes', import.meta.url)),
  hotReload: false,
  isolate: { vms: 2 },
})

if (import.meta.main) await router.serve()
