/** Runs a program's bundle in a plain child process: the same frames on fd 0 and fd 1 that a virtual machine gives it. */
import { dirname, join } from '@std/path'
import type { ResponseHead } from '../../src/isolate/wire/message.ts'
import { RUNTIME_FILE } from '../../src/isolate/bundle/bundle.ts'
import {
  type IsolatedRoute,
  planGroups,
  planProgram,
  type Program,
  PROGRAM_FILE,
} from '../../src/isolate/plan/program.ts'
import { createSeed, encodeRequest } from '../../src/isolate/wire/request_frame.ts'
import { decodeResponse } from '../../src/isolate/wire/response_frame.ts'
import { HEAD_BYTES, readHead, RESPONSE, WIDEST } from '../../src/isolate/wire/wire.ts'

/** A guest that runs. */
export interface Guest {
  readonly program: Program
  readonly process: Deno.ChildProcess
  readonly writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>
  readonly reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>
  /** What it wrote to fd 2, whole once it has ended. */
  readonly errors: Promise<string>
  left: Uint8Array<ArrayBuffer>
}

/** A request in few words. */
export interface Ask {
  readonly file?: string
  readonly method?: string
  /** Path with query. */
  readonly path?: string
  readonly headers?: readonly (readonly [string, string])[]
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly more?: Readonly<Record<string, unknown>>
}

/** A folder of route files, removed at the end. Import maps of the project hold inside. */
export async function withRoutes(
  files: Readonly<Record<string, string>>,
  run: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir()
  try {
    for (const [name, text] of Object.entries(files)) {
      await Deno.mkdir(dirname(join(folder, name)), { recursive: true })
      await Deno.writeTextFile(join(folder, name), text)
    }
    await run(folder)
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
}

/** Routes of the files in a folder: pattern and methods as their text shows them. */
export function toRoutes(folder: string, files: Readonly<Record<string, string>>): IsolatedRoute[] {
  return Object.entries(files).filter(([name]) => !/^_|^node_modules\/|^deno\.json$/.test(name)).map((
    [name, text],
  ) => ({
    file: name,
    path: join(folder, name),
    pattern: `/${name.replace(/\.\w+$/, '').replaceAll('.', '/')}`,
    methods: [...text.matchAll(/^\s*export (?:async )?(?:function|const) ([A-Z]+)\b/gm)].map(([, method]) =>
      method
    ).sort(),
    mount: /^\s*export default/m.test(text),
  }))
}

/** Boots these files as one program. */
export async function withGuest(
  files: Readonly<Record<string, string>>,
  run: (guest: Guest) => Promise<void>,
): Promise<void> {
  await withRoutes(files, async (folder) => {
    const { groups, failures } = await planGroups(toRoutes(folder, files))
    const { program, failures: unbundled } = await planProgram(groups.flat())
    for (const { error } of [...failures, ...unbundled]) throw error
    if (program === null) throw new Error('no program')
    const path = join(folder, PROGRAM_FILE)
    await Deno.writeFile(path, program.bundle.code)
    await Deno.writeFile(join(folder, RUNTIME_FILE), program.runtime.code)
    const guest = startGuest(program, path)
    try {
      await run(guest)
    } finally {
      await endGuest(guest)
    }
  })
}

function startGuest(program: Program, path: string): Guest {
  const process = new Deno.Command(Deno.execPath(), {
    args: [...program.args.slice(0, -1), path],
    env: program.env,
    clearEnv: true,
    stdin: 'piped',
    stdout: 'piped',
    stderr: 'piped',
  }).spawn()
  return {
    program,
    process,
    writer: process.stdin.getWriter(),
    reader: process.stdout.getReader(),
    errors: new Response(process.stderr).text(),
    left: new Uint8Array(0),
  }
}

/** Ends a guest by the end of its input, and gives its exit code. */
export async function endGuest({ writer, reader, process }: Guest): Promise<number> {
  await writer.close().catch(() => {})
  await reader.cancel()
  return (await process.status).code
}

const NEWLINE = 10

/** Sends a frame's bytes and reads the frame that answers. Throws when the guest ends instead. */
export async function exchange(
  guest: Guest,
  frame: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  await guest.writer.write(frame)
  await fill(guest, HEAD_BYTES)
  const { headerBytes, bodyBytes } = readHead(guest.left.subarray(0, HEAD_BYTES), RESPONSE)
  const end = HEAD_BYTES + headerBytes + bodyBytes
  // A newline follows, which is no part of it.
  await fill(guest, end + 1)
  const answer = guest.left.slice(0, end)
  if (guest.left[end] !== NEWLINE) {
    throw new Error(`byte ${guest.left[end]} follows an answer, want a newline`)
  }
  guest.left = guest.left.slice(end + 1)
  return answer
}

async function fill(guest: Guest, wanted: number): Promise<void> {
  const chunks = [guest.left]
  let have = guest.left.length
  while (have < wanted) {
    const { value, done } = await guest.reader.read()
    if (done) throw new Error(`The guest ended: ${await guest.errors}`)
    chunks.push(value)
    have += value.length
  }
  const bytes = new Uint8Array(have)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  guest.left = bytes
}

/** An answer, its body as text. */
export interface Answered {
  readonly head: ResponseHead
  readonly text: string
}

/** Sends a request to a handler and reads its answer. */
export async function ask(guest: Guest, request: Ask): Promise<Answered> {
  const { head, body } = decodeResponse(await exchange(guest, toFrame(guest.program, request)), WIDEST)
  return { head, text: new TextDecoder().decode(body) }
}

/** The frame of a request. */
export function toFrame(program: Program, request: Ask): Uint8Array<ArrayBuffer> {
  const { method = 'GET', path = '/', headers = [], body = '', more = {} } = request
  const { file = program.handlers[0].route.file } = request
  const handler = program.handlers.findIndex((entry) =>
    entry.route.file === file && (entry.method ?? method) === method
  )
  if (handler === -1) throw new TypeError(`no handler for ${method} of ${file}`)
  const url = `http://localhost${path}`
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const head = {
    handler,
    method,
    url,
    path: path.split('?')[0],
    headers,
    seed: createSeed(),
    ...more,
  }
  return encodeRequest(head, bytes)
}
