/** More requests wait for the host than a worker makes machines for: they leave theirs to others, and go on in whichever there is. */
import { Sandbox } from '@mayfly/mayfly/sandbox'
import { assert, assertEquals } from '@std/assert'
import { RUNTIMES, testIn } from '../isolated/fixture.ts'

const PROGRAM = `
let seen = 0
let last
async function* rounds(wait, name) {
  for (let i = 0; i < 3; i++) yield [i, await wait(name, i)]
}
export async function ask(name) {
  // In memory, in a closure, and in numbers of its own.
  seen++
  last = name
  const lines = []
  let sum = 0.5
  for await (const [i, value] of rounds(this.env.wait, name)) {
    sum += value
    lines.push(i + ' ' + last)
  }
  return [seen, lines.join(), sum]
}`

for (const runtime of RUNTIMES) {
  testIn(runtime)(
    'requests that leave their machines go on with what they had, and leave nothing',
    async () => {
      const count = 60
      await using sandbox = await Sandbox.open({ vms: 1, runtime, limits: { timeoutMs: 120_000 } })
      /** The calls of a round, which are answered once all are there. */
      let waiting: (() => void)[] = []
      let most = 1
      const wait = (name: number, round: number) =>
        new Promise<number>((done) => {
          waiting.push(() => done(name * (round + 1)))
          if (waiting.length < most) return
          // Who came last goes first.
          const all = waiting.reverse()
          waiting = []
          all.forEach((go) => go())
        })
      const program = sandbox.get('crowd', {
        mainModule: 'a.js',
        modules: { 'a.js': PROGRAM },
        env: { wait },
      })
      const answer = (name: number) => [[0, 1, 2].map((i) => `${i} ${name}`).join(), 6 * name + 0.5]
      for (let calls = 0; !sandbox.stats().programs.every(({ warm }) => warm); calls++) {
        assert(calls < 2000, 'it gets no snapshot')
        assertEquals((await program.call('ask', 1) as unknown[]).slice(1), answer(1))
      }
      // The warm-up's requests count.
      const [seen] = await program.call('ask', 1) as [number]
      for (let crowd = 0; crowd < 3; crowd++) {
        most = count
        const calls = Array.from({ length: count }, (_, name) => program.call('ask', name))
        const answers = await Promise.all(calls)
        answers.forEach((got, name) => assertEquals(got, [seen, ...answer(name)]))
        most = 1
        assertEquals(await program.call('ask', 9), [seen, ...answer(9)])
      }
    },
  )
}
