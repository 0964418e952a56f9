/** New versions of a program under load. The gate's: it takes a minute. */
import { assert, assertEquals } from '@std/assert'
import { Sandbox } from '@mayfly/mayfly/sandbox'
import { RUNTIMES, testIn } from '../isolated/fixture.ts'

const SWAPS = 1000
/** Every so many a version gets a snapshot of its own before the next one comes. */
const PROMOTED = 100
/** Swaps before the first look, when all that is made once has been made. */
const FIRST = 200

interface Held {
  readonly descriptors: number
  readonly threads: number
  readonly mappings: number
}

/** What the process holds. Mappings of V8's heap come and go: those of machines and programs count. */
function look(): Held {
  const count = (path: string) => [...Deno.readDirSync(path)].length
  const maps = Deno.readTextFileSync('/proc/self/maps').split('\n')
  const mappings = maps.filter((line) => /\/memfd:|kvm|\(deleted\)/.test(line)).length
  return { descriptors: count('/proc/self/fd'), threads: count('/proc/self/task'), mappings }
}

for (const runtime of RUNTIMES) {
  testIn(runtime)('swaps under load fail no call and leave no descriptor, mapping and thread', async () => {
    await using sandbox = await Sandbox.open({
      vms: 2,
      runtime,
      promoteAfter: 2,
      limits: { timeoutMs: 60_000 },
    })
    const get = (n: number) =>
      sandbox.get('swapped', {
        mainModule: 'main.js',
        modules: {
          'main.js':
            `export const version = () => ${n}\nexport default { fetch: () => new Response('${n}') }`,
        },
      }, { version: `${n}` })
    const worker = get(0)
    let done = false
    let calls = 0
    const ask = async (next: () => Promise<number>) => {
      for (let last = 0; !done; calls++) {
        const version = await next()
        assert(version >= last, `version ${version} after ${last}`)
        last = version
      }
    }
    const load = Promise.all([
      ask(async () => await worker.call('version') as number),
      ask(async () => Number(await (await worker.fetch('http://a.b/')).text())),
    ])
    let snapshots = 0
    sandbox.on('sandbox:ready', () => void snapshots++)
    let first: Held | null = null
    for (let n = 1; n <= SWAPS; n++) {
      await get(n).ready()
      if (n % PROMOTED !== 0) continue
      const before = snapshots
      // Until it has a snapshot, which the next swap ends.
      while (snapshots === before) await new Promise((resolve) => setTimeout(resolve, 5))
      if (n === FIRST) first = look()
    }
    const last = look()
    done = true
    await load
    assert(calls > SWAPS, `${calls} calls`)
    assertEquals(await worker.call('version'), SWAPS)
    for (const name of ['descriptors', 'threads', 'mappings'] as const) {
      assert(last[name] <= first![name] + 4, `${name}: ${first![name]}, then ${last[name]}`)
    }
  })
}
