import { assert, assertEquals } from '@std/assert'
import { Sandbox } from '@mayfly/mayfly/sandbox'
import { RUNTIMES, testIn } from '../isolated/fixture.ts'

/** Swaps before the first look, when all that is made once has been made, and before the second. */
const FIRST = 5
const SECOND = 20

function count(path: string): number {
  return [...Deno.readDirSync(path)].length
}

for (const runtime of RUNTIMES) {
  testIn(runtime)('swaps under load fail no call, and leave no descriptor and no thread', async () => {
    await using sandbox = await Sandbox.open({ vms: 2, runtime, promoteAfter: 2 })
    const get = (n: number) =>
      sandbox.get('swapped', {
        mainModule: 'main.js',
        modules: { 'main.js': `export const version = () => ${n}` },
      }, { version: `${n}` })
    const worker = get(0)
    let done = false
    let calls = 0
    const load = (async () => {
      for (let last = 0; !done; calls++) {
        const version = await worker.call('version') as number
        assert(version >= last, `version ${version} after ${last}`)
        last = version
      }
    })()
    let snapshots = 0
    sandbox.on('sandbox:ready', () => void snapshots++)
    const looks: number[][] = []
    for (let n = 1; n <= SECOND; n++) {
      await get(n).ready()
      const before = snapshots
      // Until it has a snapshot, which the next swap ends.
      while (snapshots === before) await new Promise((resolve) => setTimeout(resolve, 5))
      if (n === FIRST || n === SECOND) looks.push([count('/proc/self/fd'), count('/proc/self/task')])
    }
    done = true
    await load
    assert(calls > SECOND, `${calls} calls`)
    assertEquals(await worker.call('version'), SECOND)
    const [[files, threads], [filesLater, threadsLater]] = looks
    assert(filesLater <= files + 2, `${files} descriptors, then ${filesLater}`)
    assert(threadsLater <= threads + 2, `${threads} threads, then ${threadsLater}`)
  })
}
