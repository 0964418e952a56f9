/** The servers that `mayfly serve` is measured with: how each is built, and how it is started. */
import { fromFileUrl } from '@std/path'
import { fileOf } from '../server.ts'

/** A server of ours, as a command. */
export interface ServedProgram {
  readonly name: string
  /** What it is, for the table. */
  readonly label: string
  /** The program and its arguments; it listens on the port that comes last. */
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Options of `mayfly serve` that it needs. */
  readonly options: readonly string[]
  /** Whether it can be asked without a machine by connections that are kept alive. */
  readonly outside: boolean
  /** The body of its answer, where that is short enough to stand here. */
  readonly body?: string
}

const HELLO = 'hello world!'
const PROGRAMS = fromFileUrl(new URL('programs/', import.meta.url))
/** The packages of the page are those of the tests. */
const PACKAGES = fileOf('../tests/packages/deno.json')

/** Builds what must be built into `folder`. Throws where a tool is missing. */
export async function prepareServers(folder: string): Promise<ServedProgram[]> {
  await runTool('cc', ['-O2', '-static', '-o', `${folder}/hello`, `${PROGRAMS}hello.c`])
  await runTool(Deno.execPath(), [
    'bundle',
    '--quiet',
    '--config',
    PACKAGES,
    '--platform',
    'deno',
    '-o',
    `${folder}/react.js`,
    `${PROGRAMS}react.cjs`,
  ])
  const deno = (file: string) => [Deno.execPath(), 'run', '--allow-net', '--allow-env', '--no-remote', file]
  const inMachine = { DENO_DIR: '/tmp/deno', HOME: '/tmp', NODE_ENV: 'production' }
  const node = await findCommand('node')
  return [
    {
      name: 'native',
      label: 'C, static',
      command: [`${folder}/hello`],
      env: {},
      options: [],
      outside: false,
      body: HELLO,
    },
    {
      name: 'deno',
      label: 'Deno, `Deno.serve`',
      command: deno(`${PROGRAMS}hello.deno.js`),
      env: inMachine,
      options: ['--allow-read', PROGRAMS],
      outside: true,
      body: HELLO,
    },
    ...node === undefined ? [] : [{
      name: 'node',
      label: 'Node, `node:http`',
      command: [node, `${PROGRAMS}hello.node.js`],
      env: {},
      options: ['--allow-read', PROGRAMS],
      outside: true,
      body: HELLO,
    }],
    {
      name: 'react',
      label: 'Deno, a React page',
      command: deno(`${folder}/react.js`),
      env: inMachine,
      options: ['--allow-read', folder],
      outside: true,
    },
  ]
}

/** Runs a tool that builds something. Throws what it said when it fails. */
export async function runTool(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { code, stderr } = await new Deno.Command(command, { args: [...args], env, stdin: 'null' }).output()
  if (code !== 0) {
    throw new Error(`Cannot build a server: ${command} ${args[0]}: ${new TextDecoder().decode(stderr)}`)
  }
}

/** The file of a command in PATH, or at a path of its own. */
export async function findCommand(name: string): Promise<string | undefined> {
  const folders = name.startsWith('/')
    ? ['']
    : (Deno.env.get('PATH') ?? '').split(':').map((path) => `${path}/`)
  for (const folder of folders) {
    const path = `${folder}${name}`
    if ((await Deno.stat(path).catch(() => undefined))?.isFile) return path
  }
}
