/** How long a server takes to its first answer that starts from a snapshot on disk (`mayfly serve snaprun`). */
import { freePort } from '../server.ts'
import type { ServedProgram } from './servers.ts'

/** Requests before the snapshot. */
const WARM_UP = 200
/** How long a start may take before it counts as one that failed. */
const START_MS = 30_000

/** Milliseconds of one start. */
export interface Start {
  readonly name: string
  /** From the spawn of the process to the whole first answer. */
  readonly answer: number
  /** Of it, what the process says that opening the file took: its checksum above all. */
  readonly opened: number
  /** CPU time of the process until then. */
  readonly cpu: number
  /** From the spawn of the same file to its end when it only says its version: what no start can be below, beside it. */
  readonly exec: number
}

/** Writes one file of the program, and starts it so many times; every first answer is checked. */
export async function measureStarts(
  mayfly: string,
  program: ServedProgram,
  folder: string,
  count: number,
): Promise<Start[]> {
  const file = `${folder}/${program.name}.snap`
  const { code, stderr } = await new Deno.Command(mayfly, {
    args: [
      'snapshot',
      '-o',
      file,
      `--warmup=${WARM_UP}`,
      '--max-boot-time=120',
      ...Object.entries(program.env).map(([name, value]) => `--env=${name}=${value}`),
      ...program.options,
      'run',
      ...program.command,
      '8000',
    ],
    stdin: 'null',
  }).output()
  if (code !== 0) throw new Error(`Cannot write ${file}: ${new TextDecoder().decode(stderr)}`)
  const starts: Start[] = []
  for (let i = 0; i < count; i++) {
    const exec = await measureExec(mayfly)
    starts.push({ ...await measureStart(mayfly, file, program), exec })
  }
  await Deno.remove(file)
  return starts
}

async function measureExec(mayfly: string): Promise<number> {
  const begin = performance.now()
  await new Deno.Command(mayfly, { args: ['--version'], stdin: 'null', stdout: 'null' }).output()
  return performance.now() - begin
}

async function measureStart(
  mayfly: string,
  file: string,
  { name, body }: ServedProgram,
): Promise<Omit<Start, 'exec'>> {
  const port = freePort()
  const begin = performance.now()
  const child = new Deno.Command(mayfly, {
    args: ['serve', '--ephemeral', `--listen=127.0.0.1:${port}`, 'snaprun', file],
    stdin: 'null',
    stdout: 'null',
    stderr: 'piped',
  }).spawn()
  try {
    await connect(port, begin + START_MS)
    const text = await (await fetch(`http://127.0.0.1:${port}/`)).text()
    const answer = performance.now() - begin
    const cpu = await cpuMs(child.pid)
    if (text !== body) throw new Error(`Cannot time the start of ${name}: answered ${JSON.stringify(text)}`)
    child.kill('SIGTERM')
    const log = new TextDecoder().decode((await child.output()).stderr)
    const opened = Number(/ in ([\d.]+) ms,/.exec(log)?.[1])
    return { name, answer, opened, cpu }
  } finally {
    try {
      child.kill('SIGKILL')
    } catch {
      // It has ended.
    }
  }
}

/** Waits until somebody listens there. Throws at `end`, by `performance.now()`. */
async function connect(port: number, end: number): Promise<void> {
  for (;;) {
    try {
      return (await Deno.connect({ port, hostname: '127.0.0.1' })).close()
    } catch (error) {
      if (performance.now() > end) throw error
      // Timers of Deno have milliseconds: this is as long as a look takes.
      await new Promise((done) => setTimeout(done, 0))
    }
  }
}

/** CPU time of a process's threads so far, proc(5). */
async function cpuMs(pid: number): Promise<number> {
  let ns = 0
  for await (const { name } of Deno.readDir(`/proc/${pid}/task`)) {
    const text = await Deno.readTextFile(`/proc/${pid}/task/${name}/schedstat`).catch(() => '0')
    ns += Number(text.split(' ')[0])
  }
  return ns / 1e6
}
