/** `main-isolated.ts` with a listener that keeps what the machines say; GET on SAMPLES_PORT gives it. On PORT or 8000. */
import { keepSamples } from './isolated/samples.ts'
import { router } from './main-isolated.ts'

export { router }

if (import.meta.main) {
  const take = keepSamples(router)
  const side = Deno.serve(
    { hostname: '127.0.0.1', port: Number(Deno.env.get('SAMPLES_PORT') ?? 0), onListen() {} },
    () => Response.json(take()),
  )
  side.unref()
  await router.serve()
}
