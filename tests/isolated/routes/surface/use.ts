/** Uses what the runtime core has not, in the way that `?what=` names. Answers with the error, or with what came. */
import type { Context } from '@mayfly/mayfly'

export const isolated = { timeoutMs: 10_000, warmup: [{ path: '/use?what=nothing' }] }

const bytes = new Uint8Array(1)

const USES: Readonly<Record<string, () => unknown>> = {
  nothing: () => null,
  fetch: () => fetch('http://localhost/'),
  websocket: () => new WebSocket('ws://localhost/'),
  worker: () => new Worker('data:text/javascript,', { type: 'module' }),
  pipe: () => new TransformStream(),
  byte_stream: () => new ReadableStream({ type: 'bytes' }),
  compression: () => new CompressionStream('gzip'),
  key: () => crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, true, ['encrypt']),
  import_key: () => crypto.subtle.importKey('raw', bytes, 'AES-GCM', false, ['encrypt']),
  wait: () => Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
  format: () => new Intl.NumberFormat('en').format(1234.5),
  wasm: () => new WebAssembly.Module(bytes),
  storage: () => localStorage.length,
  deno: () => Deno.readTextFileSync('/etc/hostname'),
  // Outside of the module, where the bundler does not see it: there it would put in what it has for them.
  process: () => new Function('return process')().cwd(),
  buffer: () => new Function('return Buffer')().from(bytes),
  require: () => new Function('return require')()('node:fs'),
  import_node: () => import(`node:${'fs'}`),
  import_url: () => import(`https://localhost/${'x'}.js`),
}

export async function GET(ctx: Context): Promise<Response> {
  return ctx.send.json({ got: typeof await USES[ctx.get.query('what')!]() })
}

/** Uses it, and catches. */
export async function POST(ctx: Context): Promise<Response> {
  try {
    return ctx.send.json({ got: typeof await USES[ctx.get.query('what')!]() })
  } catch (error) {
    return ctx.send.json({ error: String(error) })
  }
}

/** Every name of the global object. */
export function PUT(ctx: Context): Response {
  return ctx.send.json(Reflect.ownKeys(globalThis).map(String))
}
