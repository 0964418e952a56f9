/**
 * Every attack on the host's time and memory that was once seen, by a real server, in one machine's worker that a neighbour shares. During
 * each the neighbour is answered, after each the next request is right, and in the end the host's memory is as before. What counts is turns
 * and CPU time, which no busy machine changes much; the clock's figures are those of `benchmark/neighbours.ts`.
 */
import { assert, assertEquals } from '@std/assert'
import { Router } from '@mayfly/mayfly'
import { join } from '@std/path'
import {
  ATTACKING_PROGRAM,
  BY_ANSWERS,
  BY_CALLS,
  writeAttackingHandler,
  writeAttackingNative,
} from '../../benchmark/neighbours/host_attacks.ts'
import { listen } from '../listening.ts'
import { until } from '../until.ts'
import { compile, testNative } from './native_programs.ts'

/** Longest CPU time of the server's thread for one attack and {@link TURNS} of the neighbour. */
const SERVER_MS = 50
/** Requests of the neighbour beside an attack that goes on until it is stopped. */
const TURNS = 3
/** Growth of the host's memory that is noise. */
const NOISE = 1.05
/** Rounds of all attacks behind the first, which fills caches. */
const ROUNDS = 1

const HELLO = `let calls = 0
export const isolated = { warmup: [{ path: '/hello' }] }
export const beforeSnapshot = () => { calls = 0 }
export const GET = (ctx) => ctx.send.json({ calls: ++calls })
`

testNative(
  'after every attack on the host the next request is right, its memory is back, and nobody waited',
  async () => {
    const routes = await Deno.makeTempDir({ prefix: 'mayfly-attacks-' })
    try {
      await compile(ATTACKING_PROGRAM, join(routes, '_attacks'), '-static')
      await writeAttackingNative(routes)
      await writeAttackingHandler(routes)
      await Deno.writeTextFile(join(routes, 'hello.ts'), HELLO)
      const router = new Router({
        routesDir: routes,
        hotReload: false,
        isolate: { vms: 1 },
        requestTimeoutMs: 0,
      })
      let warm = 0
      router.on('isolate:ready', ({ metadata }) => void (warm += metadata.warm === true ? 1 : 0))
      await using server = await listen((options) => router.serve(options))
      await router.ready()
      const ask = async (path: string) => {
        const response = await fetch(server.origin + path, {
          headers: { accept: 'application/problem+json' },
        })
        return { status: response.status, text: await response.text() }
      }
      const assertClean = async () => {
        assertEquals(await ask('/native/clean'), { status: 200, text: 'clean' })
        assertEquals(await ask('/handler'), { status: 200, text: 'clean' })
        assertEquals(await ask('/hello'), { status: 200, text: '{"calls":1}' })
      }

      const byCalls = async (name: string) => {
        let isOver = false
        const begin = performance.now()
        const waits: number[] = []
        const attack = ask(`/native/${name}`).finally(() => isOver = true)
        let turns = 0
        for (; turns < TURNS && !isOver; turns++) {
          assertEquals(await ask('/hello'), { status: 200, text: '{"calls":1}' })
          waits.push(Math.round(performance.now() - begin))
        }
        const { status } = await attack
        assert([502, 504, 507].includes(status), `${name} ends with ${status}`)
        // Over a limit it may have ended at once; what ran until its deadline held up nobody.
        if (status === 504) {
          assertEquals(turns, TURNS, `${name} held up its neighbour: answers after ${waits} ms`)
        }
      }
      const byAnswer = async (name: string) => {
        const { status } = await ask(`/handler?what=${name}`)
        assert(status === 200 || status >= 500, `${name} ends with ${status}`)
      }
      const attacks = [
        ...BY_CALLS.map((name) => ({ name, run: () => byCalls(name) })),
        ...BY_ANSWERS.map((name) => ({ name, run: () => byAnswer(name) })),
      ]
      await assertClean()
      // Its second snapshot takes the place of the first.
      await until('the neighbour warm', () => warm > 0)
      let before = 0
      for (let round = 0; round <= ROUNDS; round++) {
        for (const { name, run } of attacks) {
          const begin = serverCpuMs()
          await run()
          const spent = serverCpuMs() - begin
          if (round > 0) assert(spent <= SERVER_MS, `${name} took ${spent} ms of the server's thread`)
          await assertClean()
        }
        if (round === 0) before = Deno.memoryUsage().rss
      }
      await until('the memory of the host back', () => Deno.memoryUsage().rss <= before * NOISE)
    } finally {
      await Deno.remove(routes, { recursive: true })
    }
  },
)

/** CPU time of the thread that serves, which is the process's first, in milliseconds. */
function serverCpuMs(): number {
  return Number(Deno.readTextFileSync(`/proc/self/task/${Deno.pid}/schedstat`).split(' ')[0]) / 1e6
}
