/** The server of the soak and of the neighbours: isolated routes, plain and hostile. On PORT, with the routes of a folder: by default those of the soak. */
import { Router } from '@mayfly/mayfly'
import { SOAK_ROUTES } from './server.ts'

const router = new Router({
  routesDir: Deno.args[0] ?? SOAK_ROUTES,
  hotReload: false,
  isolate: { vms: 2 },
})

if (import.meta.main) await router.serve()
