/** What Node runs: the program of each request in an isolate of its own, from isolated-vm. Listens on `PORT` of 127.0.0.1. */
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { text } from 'node:stream/consumers'

// By Node's own way: the package is this folder's, and the types of the whole are checked without it.
const ivm = createRequire(import.meta.url)('isolated-vm')

/** Bytes of a program's heap, in MiB, and milliseconds of a call. */
const MEMORY_LIMIT = 128
const TIMEOUT_MS = 20_000

async function run(source, order) {
  const isolate = new ivm.Isolate({ memoryLimit: MEMORY_LIMIT })
  try {
    const context = await isolate.createContext()
    const module = await isolate.compileModule(source)
    await module.instantiate(context, () => {
      throw new TypeError('Cannot import anything: the program is one module')
    })
    await module.evaluate({ timeout: TIMEOUT_MS })
    const total = await module.namespace.get('total', { reference: true })
    return await total.apply(undefined, [order], {
      timeout: TIMEOUT_MS,
      arguments: { copy: true },
      result: { copy: true },
    })
  } finally {
    isolate.dispose()
  }
}

createServer(async (request, response) => {
  if (request.method !== 'POST') return response.end('ready')
  const { source, order } = JSON.parse(await text(request))
  const body = JSON.stringify(await run(source, order))
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
  response.end(body)
}).listen(Number(process.env.PORT), '127.0.0.1')
