/** New versions of a program under load. The gate's: it takes a minute. */
import { assert, assertEquals } from '@std/assert'
import { Sandbox } from '@mayfly/mayfly/sandbox'
import { until } from '../until.ts'
import { RUNTIMES, testIn } from '../isolated/fixture.ts'

/** Names that the program has in turn: the first version of each gets a snapshot of its own, those that soon follow it wait for one. */
const ROUNDS = 10
/** Versions of each name. */
const VERSIONS = 100

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
    const get = (round: number, n: number) =>
      sandbox.get(`swapped-${round}`, {
        mainModule: 'main.js',
        modules: {
          'main.js':
            `export const version = () => ${n}\nexport default { fetch: () => new Response('${n}') }`,
        },
      }, { version: `${n}` })
    let worker = get(0, 0)
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
    // When all that is made once has been made.
    let first: Held | null = null
    let n = 0
    for (let round = 0; round < ROUNDS; round++) {
      const before = snapshots
      worker = get(round, n)
      // Until it has a snapshot, which the next version ends.
      await until('the snapshot', () => snapshots > before)
      for (let i = 1; i < VERSIONS; i++) await get(round, ++n).ready()
      // Nobody calls it any more.
      if (round > 0) sandbox.drop(`swapped-${round - 1}`)
      n++
      if (round === 1) first = look()
    }
    const last = look()
    done = true
    await load
    assert(calls > n, `${calls} calls of ${n} versions`)
    assertEquals(await worker.call('version'), n - 1)
    for (const name of ['descriptors', 'threads', 'mappings'] as const) {
      assert(last[name] <= first![name] + 4, `${name}: ${first![name]}, then ${last[name]}`)
    }
  })
}
