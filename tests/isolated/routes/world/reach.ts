/** Tries to get out, in the way that `?by=` names. Answers with the name of the error, or with what it got. */
import type { Context } from '@mayfly/mayfly'

export const isolated = { timeoutMs: 20_000, warmup: [{ path: '/reach?by=nothing' }] }

const WAYS: Readonly<Record<string, () => unknown>> = {
  nothing: () => null,
  fetch: () => fetch('http://127.0.0.1:8000/'),
  connect: () => Deno.connect({ hostname: '127.0.0.1', port: 1 }),
  listen: () => Deno.listen({ port: 0 }),
  serve: () => Deno.serve({ port: 0, onListen() {} }, () => new Response()),
  dns: () => Deno.resolveDns('localhost', 'A'),
  websocket: () => new WebSocket('ws://127.0.0.1:1/'),
  node_net: async () => {
    const { connect } = await import(pathOf('node:net'))
    return await new Promise((resolve, reject) =>
      connect(1, '127.0.0.1').on('error', reject).on('connect', resolve)
    )
  },
  run: () => new Deno.Command('/bin/deno').outputSync(),
  node_spawn: async () => {
    const { spawnSync } = await import(pathOf('node:child_process'))
    const { error, status } = spawnSync('/bin/deno', ['--version'])
    if (error !== undefined) throw error
    return status
  },
  kill: () => Deno.kill(1, 'SIGKILL'),
  read: () => Deno.readTextFileSync('/etc/passwd'),
  read_own: () => Deno.readTextFileSync('/proc/self/environ'),
  read_folder: () => [...Deno.readDirSync('/')],
  node_read: async () => (await import(pathOf('node:fs'))).readFileSync('/etc/hostname', 'utf8'),
  write: () => Deno.writeTextFileSync('/tmp/left', 'behind'),
  temp: () => Deno.makeTempFileSync(),
  cwd: () => Deno.cwd(),
  chdir: () => Deno.chdir('/tmp'),
  env: () => Deno.env.get('PATH'),
  env_all: () => Object.keys(Deno.env.toObject()).join(),
  env_set: () => Deno.env.set('PATH', 'x'),
  ffi: () => Deno.dlopen('/lib/x86_64-linux-gnu/libc.so.6', { getpid: { parameters: [], result: 'i32' } }),
  hostname: () => Deno.hostname(),
  import_file: () => import(pathOf('/etc/hostname.js')),
  import_url: () => import(pathOf('http://127.0.0.1:1/x.js')),
  worker: () => new Worker('data:application/javascript,postMessage(1)', { type: 'module' }),
  permission: async () => {
    const names = ['read', 'write', 'net', 'env', 'run', 'ffi', 'sys'] as const
    const states = await Promise.all(names.map((name) => Deno.permissions.query({ name })))
    return states.map(({ state }) => state).join()
  },
}

export async function GET(ctx: Context): Promise<Response> {
  try {
    return ctx.send.json({ got: String(await WAYS[ctx.get.query('by')!]()) })
  } catch (error) {
    return ctx.send.json({ error: (error as Error).name })
  }
}

/** Keeps a bundler from looking. */
function pathOf(text: string): string {
  return [...text].join('')
}
