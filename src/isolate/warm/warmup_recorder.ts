/**
 * Writes requests of a developer's down, as entries of the warm-up file beside each isolated route.
 *
 * ```text
 * takeSample -- answered --> toEntry, secrets replaced --> a shape of its own? --> shown --> NAME.warmup.json
 * ```
 *
 * For development only: what production's users send must never come into a snapshot.
 */
import { StreamedBodyError } from '../../context/body.ts'
import { basename, dirname, join } from '@std/path'
import type { RequestState } from '../../context/state.ts'
import { toJsonMembers } from '../wire/json_members.ts'
import { redactHeader, redactMember, redactQuery } from './redaction.ts'
import { describeShape } from './request_shape.ts'
import { fromBody } from './warmup_body.ts'
import { parseWarmup, warmupPathOf } from './warmup_file.ts'
import { entryShape, MAX_WARMUP_REQUESTS, type WarmupRequest } from './warmup_request.ts'

/** What a recorder needs to know of a route. */
export interface RecordableRoute {
  /** As shown to people, and its absolute path. */
  readonly file: string
  readonly path: string
  readonly pattern: string
}

/** Shapes that are written down for a method of a route; an app has all its routes in one file, and eight times as many. */
export const MAX_SAMPLES = 8
const MAX_APP_SAMPLES = 64
/** Bytes of one body, and of a file. */
export const MAX_SAMPLE_BODY = 64 << 10
const MAX_RECORDED = 1 << 20
/** Samples that wait to be looked at; more at once are left out. */
const MAX_WAITING = 64
/** Milliseconds without a new sample before a file is written. */
const WRITE_MS = 300

/** Headers that describe the connection, the kind of client or its cache: the warm-up's clients bring their own. */
const LEFT_OUT =
  /^(?:host|connection|keep-alive|user-agent|content-length|transfer-encoding|te|trailer|upgrade|upgrade-insecure-requests|accept-encoding|cache-control|pragma|priority|dnt|via|forwarded|x-forwarded-.*|x-real-ip|x-request-id|x-mayfly-.*|sec-.*|if-.*)$/

/** What a warm-up recorder keeps. */
export interface WarmupRecorder {
  readonly files: Map<string, RecordedFile>
  readonly tell: (line: string) => void
  work: Promise<void>
  waiting: number
}

/** The warm-up file of one route. */
interface RecordedFile {
  readonly route: RecordableRoute
  readonly target: string
  readonly shown: string
  readonly entries: WarmupRequest[]
  readonly shapes: Set<string>
  /** Samples of this session by method. */
  readonly counts: Map<string, number>
  bytes: number
  added: number
  timer: ReturnType<typeof setTimeout> | undefined
  /** It cannot be read, and must not be written over. */
  readonly broken: boolean
}

/** A request that came, as it was before its handler ran. */
export interface Sample {
  readonly route: RecordableRoute
  /** The handler is an app that takes all methods. */
  readonly isApp: boolean
  readonly ctx: RequestState
  readonly state: string | undefined
  readonly session: string | undefined
}

/** A recorder; `tell` prints a line for the developer. */
export function createRecorder(tell: (line: string) => void = console.log): WarmupRecorder {
  return { files: new Map(), tell, work: Promise.resolve(), waiting: 0 }
}

/** Notes what a handler is about to see; null for what no entry can say. */
export function takeSample(route: RecordableRoute, isApp: boolean, ctx: RequestState): Sample | null {
  if (ctx.method === 'HEAD') return null
  return {
    route,
    isApp,
    ctx,
    state: ctx.bag === null ? undefined : toJsonMembers(ctx.bag),
    session: ctx.session === null ? undefined : JSON.stringify(ctx.session.data),
  }
}

/** Writes a sample down whose request was answered well, if there is none of its shape. Never throws. */
export function recordSample(recorder: WarmupRecorder, sample: Sample): void {
  if (recorder.waiting >= MAX_WAITING) return
  recorder.waiting++
  recorder.work = recorder.work
    .then(() => record(recorder, sample))
    .catch((error) => console.error(`mayfly: a request of ${sample.route.file} cannot be recorded\n`, error))
    .finally(() => recorder.waiting--)
}

/** Writes what is not written yet. */
export async function closeRecorder(recorder: WarmupRecorder): Promise<void> {
  await recorder.work
  for (const file of recorder.files.values()) {
    if (file.timer !== undefined) await write(recorder, file)
  }
}

async function record(recorder: WarmupRecorder, sample: Sample): Promise<void> {
  const file = await openFile(recorder, sample.route)
  const { method } = sample.ctx
  const count = file.counts.get(method) ?? 0
  if (file.broken || count >= (sample.isApp ? MAX_APP_SAMPLES : MAX_SAMPLES)) return
  const body = await bodyOf(sample.ctx)
  if (body === null) {
    const key = `${method} in pieces`
    if (!file.shapes.has(key)) {
      recorder.tell(`mayfly: not recorded, as its body came in pieces: ${method} ${sample.route.pattern}`)
    }
    file.shapes.add(key)
    return
  }
  const entry = await toEntry(sample, body)
  if (entry === null) return
  const key = keyOf(entry, sample.route)
  if (file.shapes.has(key)) return
  file.shapes.add(key)
  const shape = describeShape(entryShape(entry, sample.route.pattern))
  const bytes = JSON.stringify(entry).length
  const isFull = file.bytes + bytes > MAX_RECORDED || file.entries.length >= MAX_WARMUP_REQUESTS
  if (body.length > MAX_SAMPLE_BODY || isFull) {
    recorder.tell(`mayfly: not recorded, as its body or the file is too large: ${shape}`)
    return
  }
  file.counts.set(method, count + 1)
  file.entries.push(entry)
  file.bytes += bytes
  file.added++
  recorder.tell(`mayfly: recorded ${shape}${entry.note === undefined ? '' : ` (${entry.note})`}`)
  clearTimeout(file.timer)
  file.timer = setTimeout(() => {
    recorder.work = recorder.work.then(() => write(recorder, file))
  }, WRITE_MS)
}

/** The file of a route with the entries that it has. */
async function openFile(recorder: WarmupRecorder, route: RecordableRoute): Promise<RecordedFile> {
  const known = recorder.files.get(route.path)
  if (known !== undefined) return known
  const target = warmupPathOf(route.path)
  const shown = join(dirname(route.file), basename(target))
  let entries: WarmupRequest[] = []
  let broken = false
  try {
    entries = await parseWarmup(`record requests of '${route.file}'`, shown, await Deno.readTextFile(target))
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) {
      broken = true
      console.error(`mayfly: ${(error as Error).message}`)
    }
  }
  const file: RecordedFile = {
    route,
    target,
    shown,
    entries,
    shapes: new Set(entries.map((entry) => keyOf(entry, route))),
    counts: new Map(),
    bytes: JSON.stringify(entries).length,
    added: 0,
    timer: undefined,
    broken,
  }
  recorder.files.set(route.path, file)
  return file
}

/** As a whole or not at all. */
async function write(recorder: WarmupRecorder, file: RecordedFile): Promise<void> {
  clearTimeout(file.timer)
  file.timer = undefined
  if (file.added === 0) return
  const { target, shown, entries, added } = file
  const beside = join(dirname(target), `.${basename(target)}.new`)
  try {
    await Deno.writeTextFile(beside, JSON.stringify(entries, null, 2) + '\n')
    await Deno.rename(beside, target)
  } catch (error) {
    console.error(`mayfly: ${shown} cannot be written: ${(error as Error).message}`)
    return
  }
  file.added = 0
  recorder.tell(
    `mayfly: wrote ${added} more warm-up request${added === 1 ? '' : 's'} to ${shown}: review it, ` +
      `name it in ${file.route.file} (warmup: './${basename(target)}'), and commit it`,
  )
}

/** The entry for a sample; null for a body that no entry can hold. */
async function toEntry(
  { ctx, state, session }: Sample,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<WarmupRequest | null> {
  const hidden = new Set<string>()
  const hide = (name: string, value: unknown): unknown => {
    const shown = redactMember(name, value)
    if (shown !== value) hidden.add(name)
    return shown
  }
  const asked = ctx.pathname + (/\?[^#]*/.exec(ctx.url)?.[0] ?? '')
  const path = redactQuery(asked)
  if (path !== asked) hidden.add('query')
  const headers: Record<string, string> = {}
  for (const [name, value] of ctx.request.headers) {
    if (LEFT_OUT.test(name) || (name === 'content-type' && bytes.length === 0)) continue
    headers[name] = name === 'content-type'
      ? value.replace(/;\s*boundary=[^;]*/i, '')
      : redactHeader(name, value)
    if (headers[name] !== value && name !== 'content-type') hidden.add(name)
  }
  const type = ctx.request.headers.get('content-type') ?? ''
  const body = bytes.length === 0 ? undefined : await fromBody({ type, bytes }, hide)
  if (bytes.length > 0 && body === undefined) return null
  if (bytes.length > 0 && type === '') headers['content-type'] = ''
  return {
    ...(ctx.method === 'GET' ? {} : { method: ctx.method }),
    path,
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(body === undefined ? {} : { body }),
    ...(state === undefined || state === '{}' ? {} : { state: JSON.parse(state, hide) }),
    ...(session === undefined ? {} : { session: JSON.parse(session, hide) }),
    ...(ctx.validated === null
      ? {}
      : { validated: JSON.parse(JSON.stringify(ctx.validated.value) ?? 'null', hide) }),
    ...(hidden.size === 0 ? {} : { note: `redacted: ${[...hidden].join(', ')}` }),
  }
}

/** Entries of one key are the same work for a handler, as far as anything but the handler can know. */
function keyOf(entry: WarmupRequest, route: RecordableRoute): string {
  const { headers = {}, body, state, session, validated } = entry
  const names = Object.keys(headers).map((name) => name.toLowerCase()).sort()
  return JSON.stringify([
    entryShape(entry, route.pattern),
    names,
    [body, state, session, validated].map((value) => formOf(value, 4)),
  ])
}

/** The names and types in a value, down to `depth`. */
function formOf(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value
  if (depth === 0) return 'object'
  if (Array.isArray(value)) return value.length === 0 ? [] : [formOf(value[0], depth - 1)]
  const names = Object.keys(value).sort()
  return names.map((name) => [name, formOf((value as Record<string, unknown>)[name], depth - 1)])
}

/** The body that the handler had; null for one that came piece by piece. */
async function bodyOf({ body }: RequestState): Promise<Uint8Array<ArrayBuffer> | null> {
  try {
    return await body ?? new Uint8Array(0)
  } catch (error) {
    if (error instanceof StreamedBodyError) return null
    throw error
  }
}
