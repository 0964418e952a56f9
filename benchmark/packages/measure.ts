/**
 * One package of `tests/packages`, measured: its handler plain in a warm process, isolated with a warm-up of its own inputs, and isolated
 * with the default warm-up, in turns. Prints a line of {@link PackageTimes}. Runs under the packages' `deno.json`.
 */
import { deadline } from '@std/async'
import { fromFileUrl } from '@std/path'
import type { Input } from '../../tests/packages/input.ts'
import { findKnown } from '../../tests/packages/known.ts'
import { openSite, readInputs, type Site } from '../../tests/packages/sites.ts'
import { median } from '../statistics.ts'
import type { PlainTimes } from './plain.ts'

/** Medians of a request for each input, in microseconds; a list holds one for each round. */
export interface PackageTimes {
  readonly name: string
  readonly plain: readonly (readonly number[])[]
  /** Machine's time, warmed up with the inputs. */
  readonly warm: readonly (readonly number[])[]
  /** Machine's time, with the default warm-up. */
  readonly unasked: readonly (readonly number[])[]
  /** Milliseconds until the programs were ready, and whether they had settled. */
  readonly ready: Readonly<Record<'warm' | 'unasked', { readonly bootMs: number; readonly settled: boolean }>>
}

/** A program that is not warm by then is an error. */
const WARM_MS = 120_000
const CONFIG = fromFileUrl(new URL('../../tests/packages/deno.json', import.meta.url))
const PLAIN = fromFileUrl(new URL('./plain.ts', import.meta.url))

/** A site and what its machines say of the last request. */
interface Measured {
  readonly site: Site
  readonly ready: { bootMs: number; settled: boolean }
  /** Of the last request. */
  runMicros: number
}

/** Opens the handler isolated and waits until it is warm: its machines answer before. */
async function open(name: string, inputs: readonly Input[], chosen: boolean): Promise<Measured> {
  const site = await openSite('deno', [name], chosen ? { inputs: { [name]: inputs } } : {})
  const measured: Measured = { site, ready: { bootMs: 0, settled: true }, runMicros: 0 }
  const warm = Promise.withResolvers<void>()
  site.router.on('isolate:ready', ({ metadata }) => {
    Object.assign(measured.ready, { bootMs: metadata.bootMs, settled: metadata.settled })
    if (metadata.warm !== false) warm.resolve()
  })
  site.router.on('isolate:complete', ({ metadata }) => void (measured.runMicros = metadata.runMicros ?? 0))
  await site.ask(name, inputs[0])
  await deadline(warm.promise, WARM_MS)
  return measured
}

async function ask(
  measured: Measured,
  name: string,
  inputs: readonly Input[],
  ms: number,
): Promise<PlainTimes> {
  const times = inputs.map((): number[] => [])
  const answers = inputs.map(() => '')
  for (const end = performance.now() + ms; performance.now() < end;) {
    for (const [index, input] of inputs.entries()) {
      measured.runMicros = 0
      const { status, body, error } = await measured.site.ask(name, input)
      // The event comes when the machine is clean again, which may be after the answer.
      for (let turn = 0; measured.runMicros === 0 && turn < 1000; turn++) {
        await new Promise((next) => setTimeout(next))
      }
      if (error !== undefined) throw new Error(`Cannot measure ${name}, input ${index}: ${error}`)
      times[index].push(measured.runMicros)
      answers[index] = `${status} ${body}`
    }
  }
  return { micros: times.map((list) => median(list)!), answers }
}

/** The plain handler in its process; the returned function measures for so many milliseconds. */
async function startPlain(name: string, chosen: readonly number[]) {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      'run',
      '-A',
      '--no-check',
      '--no-prompt',
      '--frozen',
      '--config',
      CONFIG,
      PLAIN,
      name,
      chosen.join(),
    ],
    stdin: 'piped',
    stdout: 'piped',
    stderr: 'inherit',
  }).spawn()
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
  const writer = child.stdin.getWriter()
  let rest = ''
  const line = async (): Promise<PlainTimes> => {
    while (!rest.includes('\n')) {
      const { value, done } = await reader.read()
      if (done) throw new Error(`Cannot measure ${name}: the plain process ended`)
      rest += value
    }
    const end = rest.indexOf('\n')
    const text = rest.slice(0, end)
    rest = rest.slice(end + 1)
    return JSON.parse(text)
  }
  await line()
  return {
    measure: async (ms: number) => {
      await writer.write(new TextEncoder().encode(`${ms}\n`))
      return await line()
    },
    async close() {
      await writer.close()
      await child.status
    },
  }
}

async function measurePackage(name: string, rounds: number, ms: number): Promise<PackageTimes> {
  const all = await readInputs(name)
  const chosen = all.map((_, index) => index).filter((index) => findKnown(name, 'deno', index) === undefined)
  const inputs = chosen.map((index) => all[index])
  const warm = await open(name, inputs, true)
  const unasked = await open(name, inputs, false)
  const plain = await startPlain(name, chosen)
  try {
    const seen: { plain: number[][]; warm: number[][]; unasked: number[][] } = {
      plain: [],
      warm: [],
      unasked: [],
    }
    for (let round = -1; round < rounds; round++) {
      const turns = {
        plain: await plain.measure(ms),
        warm: await ask(warm, name, inputs, ms),
        unasked: await ask(unasked, name, inputs, ms),
      }
      for (const kind of ['warm', 'unasked'] as const) {
        const wrong = turns[kind].answers.findIndex((answer, index) => answer !== turns.plain.answers[index])
        if (wrong !== -1) {
          throw new Error(
            `Cannot measure ${name}, input ${wrong}: its answer is not the plain one's (${kind})`,
          )
        }
      }
      // The first round fills caches.
      if (round === -1) continue
      for (const kind of ['plain', 'warm', 'unasked'] as const) seen[kind].push([...turns[kind].micros])
    }
    return { name, ...seen, ready: { warm: warm.ready, unasked: unasked.ready } }
  } finally {
    await plain.close()
    await warm.site.close()
    await unasked.site.close()
  }
}

if (import.meta.main) {
  const [name, rounds, ms] = Deno.args
  console.log(JSON.stringify(await measurePackage(name, Number(rounds), Number(ms))))
  Deno.exit(0)
}
