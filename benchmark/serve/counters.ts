/** The servers of the soak of `mayfly serve`: each answers with the request's path and which of its requests it was. */
import { fromFileUrl } from '@std/path'
import { findCommand, runTool } from './servers.ts'

/** A counting server, as a command. It listens on the port that comes behind the command. */
export interface Counter {
  readonly name: string
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Options of `mayfly serve` that it needs. */
  readonly options: readonly string[]
}

const FOLDER = fromFileUrl(new URL('counters/', import.meta.url))

/** Builds what must be built into `folder`. Names on the standard error what is not installed; throws where a build fails. */
export async function prepareCounters(folder: string): Promise<Counter[]> {
  const read = ['--allow-read', FOLDER]
  const counters: Counter[] = [{
    name: 'deno',
    command: [Deno.execPath(), 'run', '--allow-net', '--no-remote', `${FOLDER}count.deno.js`],
    env: { DENO_DIR: '/tmp/deno', HOME: '/tmp' },
    options: read,
  }]
  const add = async (name: string, tool: string, toCounter: (path: string) => Promise<Partial<Counter>>) => {
    const path = await findCommand(tool)
    if (path === undefined) return console.error(`SKIPPED: ${name}: ${tool} is not installed`)
    counters.push({ name, command: [], env: {}, options: [], ...await toCounter(path) })
  }
  await add('c', 'cc', async (cc) => {
    await runTool(cc, ['-O2', '-static', '-o', `${folder}/c`, `${FOLDER}count.c`])
    return { command: [`${folder}/c`] }
  })
  await add('go', 'go', async (go) => {
    await runTool(go, ['build', '-o', `${folder}/go`, `${FOLDER}count.go`], { CGO_ENABLED: '0' })
    return { command: [`${folder}/go`] }
  })
  await add(
    'node',
    'node',
    (node) => Promise.resolve({ command: [node, `${FOLDER}count.node.js`], options: read }),
  )
  // The system's own: one by a version manager has its library elsewhere.
  await add('python', '/usr/bin/python3', async (path) => {
    const python = await Deno.realPath(path)
    const library = `/usr/lib/${python.slice(python.lastIndexOf('/') + 1)}`
    return { command: [python, `${FOLDER}count.py`], options: ['--allow-read', `${FOLDER},${library}`] }
  })
  return counters
}
