/** A process with a site whose snapshots lie on disk: asks once, waits for its files, and prints what it was told. */
import { routerOf, snapshotsIn } from './cache_helper.ts'

const [routes, cache] = Deno.args as [string, string]
const router = routerOf(routes, cache)
const ready: boolean[] = []
router.on('isolate:ready', ({ metadata }) => void ready.push((metadata as { cached: boolean }).cached))
const response = await router.fetch(new Request('http://localhost/'))
const text = await response.text()
const count = () => snapshotsIn(cache).length
for (let i = 0; i < 3000 && count() < 2; i++) await new Promise((done) => setTimeout(done, 10))
console.log(JSON.stringify({ status: response.status, text, cached: ready[0] }))
await router.close()
