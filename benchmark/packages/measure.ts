/**
 * One package of `tests/packages`, measured: its handler plain in a warm process, isolated with a warm-up of its own inputs, and isolated
 * with the default warm-up, in turns. Each in a tight loop: a core that slept between requests is two to three times slower at first,
 * plain or not. Prints a line of {@link PackageTimes}. Runs under the packages' `deno.json`.
 */
import { fromFileUrl } from '@std/path'
import { Bases } from '../../src/isolate/boot/base.ts'
import { bootWarm } from '../../src/isolate/boot/boot.ts'
import { toGuestFrame } from '../../src/isolate/answer/context_to_guest.ts'
import { buildLibrary } from '../../src/isolate/ffi/build/build.ts'
import { NativeLibrary } from '../../src/isolate/ffi/library.ts'
import { NativePool } from '../../src/isolate/ffi/native_pool.ts'
import type { NativeProgram } from '../../src/isolate/ffi/native_program.ts'
import { planPrograms } from '../../src/isolate/plan/program.ts'
import { decodeResponse } from '../../src/isolate/wire/response_frame.ts'
import { HEADER_MAX } from '../../src/isolate/wire/wire.ts'
import { METHODS } from '../../src/router/match/methods.ts'
import { type Input, toRequest } from '../../tests/packages/input.ts'
import { findKnown } from '../../tests/packages/known.ts'
import { importHandler, makeFolder, readInputs, writeRoute } from '../../tests/packages/sites.ts'
import { median } from '../statistics.ts'
import { createHost, toContext } from './context.ts'
import { EMPTY_HANDLER, EMPTY_PART, type PlainTimes } from './plain.ts'

/** Medians of a request for each input, in microseconds of CPU time; a list holds one for each round. */
export interface PackageTimes {
  readonly name: string
  readonly plain: readonly (readonly number[])[]
  /** Of a handler that does nothing, plain and isolated. */
  readonly empty: Readonly<Record<'plain' | 'machine', readonly number[]>>
  /** Machine's time, warmed up with the inputs. */
  readonly warm: readonly (readonly number[])[]
  /** Machine's time, with the default warm-up. */
  readonly unasked: readonly (readonly number[])[]
  /** Milliseconds until the programs were ready, and whether they had settled. */
  readonly ready: Readonly<Record<'warm' | 'unasked', { readonly bootMs: number; readonly settled: boolean }>>
}

const CONFIG = fromFileUrl(new URL('../../tests/packages/deno.json', import.meta.url))
const PLAIN = fromFileUrl(new URL('./plain.ts', import.meta.url))
/** Longest request, and longest answer, for the look at its bytes. */
const TIMEOUT_MS = 20_000
const ANSWER = { header: HEADER_MAX, body: 64 << 20 }

/** What a client of the Web sends, none of the warm-up's. */
const CLIENT = {
  host: 'shop.example',
  'user-agent': 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:150.0) Gecko/20100101 Firefox/150.0',
  accept: '*/*',
  'accept-encoding': 'gzip, deflate, br, zstd',
  'accept-language': 'de,en;q=0.7',
}

/** A handler that does nothing: what it takes, any request takes. */
const EMPTY: Subject = {
  name: 'empty',
  inputs: [{}],
  exported: { GET: true },
  async write(folder) {
    const path = `${folder}/empty.ts`
    await Deno.writeTextFile(path, `${EMPTY_HANDLER}\nexport const isolated = true\n`)
    return path
  },
}

/** What runs machines here. */
interface Machines {
  readonly library: NativeLibrary
  readonly bases: Bases
  /** Asks once; times are taken in forks of the program's own. */
  readonly pool: NativePool
}

/** A program that is warm, and the frames of the inputs. */
interface Isolated {
  readonly native: NativeProgram
  readonly ready: PackageTimes['ready']['warm']
  readonly frames: readonly Uint8Array<ArrayBuffer>[]
  /** Status and base64 of the body, for each input. */
  readonly answers: readonly string[]
}

async function openMachines(): Promise<Machines> {
  const library = NativeLibrary.open(await buildLibrary())
  library.check(library.symbols.mayfly_leave_scheduler())
  const coreFiles = () => Promise.reject(new Error('Cannot load core: only stock Deno is measured'))
  const pool = new NativePool(library, { workers: 1, queue: 1 })
  return { library, bases: new Bases(library, coreFiles), pool }
}

/** A handler, and how its route file comes into a folder. */
interface Subject {
  readonly name: string
  readonly inputs: readonly Input[]
  readonly exported: Readonly<Record<string, unknown>>
  write(folder: string): Promise<string>
}

/** Boots the handler's program until it is warm. */
async function boot(
  { library, bases, pool }: Machines,
  { name, inputs, exported, write }: Subject,
): Promise<Isolated> {
  const folder = await makeFolder()
  try {
    const path = await write(folder)
    const route = {
      file: name,
      path,
      pattern: `/${name}`,
      methods: METHODS.filter((method) => method in exported),
      mount: 'default' in exported,
    }
    const { programs: [plan], failures } = await planPrograms([route])
    if (plan === undefined) throw failures[0].error
    const base = await bases.hold(plan)
    const { native, bootMs, settled } = await bootWarm(library, base.native, plan)
    const host = createHost()
    const frames = await Promise.all(inputs.map((input) => {
      const request = toRequest(name, { ...input, headers: { ...CLIENT, ...input.headers } })
      const handler = plan.handlers.findIndex(({ method }) => method === null || method === request.method)
      return toGuestFrame(toContext(host, request), handler)
    }))
    const answers: string[] = []
    for (const frame of frames) {
      const { frame: answer, reset } = await pool.submit(native, frame, { timeoutMs: TIMEOUT_MS })
      await reset.over()
      const { head: { status, error }, body } = decodeResponse(answer, ANSWER)
      answers.push(error === undefined ? `${status} ${body.toBase64()}` : `${error.name}: ${error.message}`)
    }
    return { native, ready: { bootMs, settled }, frames, answers }
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
}

/** Medians of a request for each input, which share the time. */
function time({ native, frames }: Isolated, ms: number): number[] {
  return frames.map((frame) => median(native.time(frame, ms / frames.length))!)
}

/** The plain handler in its process; the returned function measures for so many milliseconds. */
function startPlain(name: string, chosen: readonly number[]) {
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
  let warm = false
  return {
    measure: async (ms: number) => {
      if (!warm) await line()
      warm = true
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
  // It warms up while the machines boot.
  const plain = startPlain(name, chosen)
  const machines = await openMachines()
  const exported = await importHandler(name)
  const subject = (asked: boolean): Subject => ({
    name,
    inputs,
    exported,
    write: (folder) => writeRoute(folder, 'deno', name, asked ? { inputs: { [name]: inputs } } : {}),
  })
  const isolated = {
    warm: await boot(machines, subject(true)),
    unasked: await boot(machines, subject(false)),
  }
  const emptyMachine = await boot(machines, EMPTY)
  const seen: Record<'plain' | keyof typeof isolated, number[][]> = { plain: [], warm: [], unasked: [] }
  const empty: Record<'plain' | 'machine', number[]> = { plain: [], machine: [] }
  try {
    for (let round = -1; round < rounds; round++) {
      const { micros, answers, emptyMicros } = await plain.measure(ms)
      for (const kind of ['warm', 'unasked'] as const) {
        const own = isolated[kind].answers
        const wrong = own.findIndex((answer, index) => answer !== answers[index])
        if (wrong !== -1) {
          throw new Error(
            `Cannot measure ${name}, input ${wrong}: its answer is not the plain one's (${kind}): ${
              own[wrong]
            }`,
          )
        }
        const times = time(isolated[kind], ms)
        // The first round fills caches.
        if (round !== -1) seen[kind].push(times)
      }
      const [emptyTime] = time(emptyMachine, ms / EMPTY_PART)
      if (round === -1) continue
      seen.plain.push([...micros])
      empty.plain.push(emptyMicros)
      empty.machine.push(emptyTime)
    }
  } finally {
    await plain.close()
  }
  return { name, ...seen, empty, ready: { warm: isolated.warm.ready, unasked: isolated.unasked.ready } }
}

if (import.meta.main) {
  const [name, rounds, ms] = Deno.args
  console.log(JSON.stringify(await measurePackage(name, Number(rounds), Number(ms))))
  Deno.exit(0)
}
