/**
 * How long a plain app with one isolated route and a filled `isolate.cacheDir` takes to its first isolated answer when it starts again:
 * `deno run -A benchmark/plain_start.ts ROUNDS CHECKOUT...`. Each round starts the app with every checkout of Mayfly in turn, with this one
 * if none is named, and a bare `Deno.serve`, which is the floor. CPU times hang less on what else runs than those by the clock.
 */
import { fromFileUrl, join, resolve, toFileUrl } from '@std/path'
import { median } from './statistics.ts'

/** Milliseconds that the first start has to fill the folder. */
const FILL_MS = 15_000

/** Milliseconds since the spawn, by the clock and of the CPU. */
interface Mark {
  readonly clock: number
  readonly cpu: number
}
const NAMES = ['imported', 'listening', 'answered'] as const
type Marks = Record<typeof NAMES[number], Mark>

/** What runs in turn. */
interface Contestant {
  readonly name: string
  readonly args: readonly string[]
  readonly marks: Marks[]
}

/** Tells the time and the CPU time of all threads, in nanoseconds; a part of each app. */
const MARK = `const CPU = ${cpuMs}
const mark = (name, port = 0) =>
  console.log(JSON.stringify({ name, port, clock: performance.timeOrigin + performance.now(), cpu: CPU('self') }))
`

const ROUTE = `export const isolated = true
export const GET = () => new Response('hello')
`

/** Milliseconds of CPU time that the threads of a process took, and those of them that go on. */
function cpuMs(pid: number | string): number {
  const tasks = [...Deno.readDirSync(`/proc/${pid}/task`)].map(({ name }) => {
    try {
      return Number(Deno.readTextFileSync(`/proc/${pid}/task/${name}/schedstat`).split(' ')[0])
    } catch {
      return 0 // it has ended
    }
  })
  return tasks.reduce((sum, ns) => sum + ns, 0) / 1e6
}

/** Writes an app of its own folder for a checkout. */
async function writeApp(folder: string, checkout: string): Promise<Contestant> {
  const root = resolve(checkout)
  await Deno.mkdir(join(folder, 'routes'), { recursive: true })
  await Deno.writeTextFile(join(folder, 'routes', 'index.ts'), ROUTE)
  const app = join(folder, 'app.ts')
  await Deno.writeTextFile(
    app,
    `import { Router } from ${JSON.stringify(toFileUrl(join(root, 'mod.ts')).href)}
${MARK}
mark('imported')
const router = new Router({
  routesDir: ${JSON.stringify(join(folder, 'routes'))},
  isolate: { cacheDir: ${JSON.stringify(join(folder, 'cache'))} },
})
await router.serve({ port: 0, hostname: '127.0.0.1', onListen: ({ port }) => mark('listening', port) })
`,
  )
  return { name: checkout, args: ['--config', join(root, 'deno.json'), app], marks: [] }
}

async function writeFloor(folder: string): Promise<Contestant> {
  await Deno.mkdir(folder)
  const app = join(folder, 'app.ts')
  await Deno.writeTextFile(
    app,
    `${MARK}
mark('imported')
Deno.serve({ port: 0, hostname: '127.0.0.1', onListen: ({ port }) => mark('listening', port) }, () => new Response('hello'))
`,
  )
  return { name: 'bare Deno.serve', args: ['--no-config', app], marks: [] }
}

/** Starts an app, asks it once, and ends it after `lingerMs` more. */
async function start({ args }: Contestant, lingerMs = 0): Promise<Marks> {
  const begin = performance.timeOrigin + performance.now()
  const child = new Deno.Command(Deno.execPath(), {
    args: ['run', '-A', '--no-prompt', ...args],
    stdout: 'piped',
    stderr: 'inherit',
  }).spawn()
  try {
    const marks: Partial<Record<string, Mark>> = {}
    let text = ''
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      text += chunk
      const lines = text.split('\n')
      text = lines.pop()!
      for (const { name, port, clock, cpu } of lines.map((line) => JSON.parse(line))) {
        marks[name] = { clock: clock - begin, cpu }
        if (name !== 'listening') continue
        const response = await fetch(`http://127.0.0.1:${port}/`)
        const answer = await response.text()
        if (answer !== 'hello') throw new Error(`the app answers ${response.status} ${answer}, want hello`)
        const answered = performance.timeOrigin + performance.now() - begin
        marks.answered = { clock: answered, cpu: cpuMs(child.pid) }
        await new Promise((done) => setTimeout(done, lingerMs))
        return marks as Marks
      }
    }
    throw new Error('the app ended before it listened')
  } finally {
    child.kill('SIGKILL')
    await child.status
  }
}

function show({ name, marks }: Contestant): void {
  console.log(name)
  for (const mark of NAMES) {
    const [clock, cpu] = (['clock', 'cpu'] as const).map((kind) => {
      const values = marks.map((of) => of[mark][kind]).toSorted((a, b) => a - b)
      return `${Math.round(median(values)!)} ms (${Math.round(values[0]!)} to ${Math.round(values.at(-1)!)})`
    })
    console.log(`  ${mark.padEnd(10)} ${clock!.padEnd(24)} of the CPU ${cpu}`)
  }
}

if (import.meta.main) {
  const [rounds = '9', ...checkouts] = Deno.args
  if (checkouts.length === 0) checkouts.push(fromFileUrl(new URL('..', import.meta.url)))
  const folder = await Deno.makeTempDir()
  try {
    const apps = await Promise.all(checkouts.map((checkout, at) => writeApp(join(folder, `${at}`), checkout)))
    const all = [await writeFloor(join(folder, 'floor')), ...apps]
    for (const app of all) await start(app, app === all[0] ? 0 : FILL_MS)
    for (let round = 0; round < Number(rounds); round++) {
      for (const app of all) app.marks.push(await start(app))
    }
    console.log(
      `${rounds} rounds, since the spawn, medians (least to most); load ${Deno.loadavg()[0]!.toFixed(1)}`,
    )
    for (const app of all) show(app)
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
}
