/** What to boot, as bytes: `native/ffi/src/spec.rs` has the layout. */
import { joinBytes } from '../../context/join_bytes.ts'
import { SPEC_TAGS, SPEC_VERSION } from './layout.ts'

/** A file of these bytes in the guest, read-only. */
export interface GuestFile {
  /** Absolute path in the guest. */
  readonly guest: string
  readonly bytes: Uint8Array
}

/** A host file or folder in the guest, read-only. */
export interface GuestMount {
  /** Absolute path in the guest. */
  readonly guest: string
  /** Absolute path on the host. It must not change while the program lives; replacing it by a rename is fine. */
  readonly host: string
}

/** Frames that run before the snapshot. */
export interface WarmupFrame {
  readonly frame: Uint8Array
  readonly runs: number
  /** Neighbours of equal number run in turn; default 0. */
  readonly group?: number
  /** Keep the last answer, for `NativeProgram.answer`. */
  readonly tell?: boolean
  /** Run it once in each new machine, and try it out after the boot, for `BootReport.trials`. */
  readonly rehearse?: boolean
  /** No request: when its group has run, the group goes on until this answers the same round after round. Its `runs` do not count. */
  readonly gauge?: boolean
  /** Milliseconds that one run may take; over it the boot fails. Without it only `bootMs` bounds it. */
  readonly timeoutMs?: number
  /** Milliseconds of CPU time after which its runs are first compared: it goes on while they become faster. Without it all of them run. */
  readonly windowMs?: number
  /** Milliseconds of CPU time for all runs together; none begins after it. */
  readonly mostMs?: number
}

/** What a program has whether it boots by itself or is loaded into a base. */
interface CommonSpec {
  readonly mounts?: readonly GuestMount[]
  readonly files?: readonly GuestFile[]
  readonly limits: ProgramLimits
  readonly warmup?: readonly WarmupFrame[]
  /** The program answers draw frames: its generators are brought to their next seed before the snapshot. */
  readonly reseed?: boolean
  /** A frame that the program answers after all else, before the snapshot; nobody hears the answer. */
  readonly last?: Uint8Array
}

/** A program to boot. */
export interface ProgramSpec extends CommonSpec {
  /** Absolute path in the guest; one of the mounts. */
  readonly path: string
  /** Arguments, the program's own name first. */
  readonly args: readonly string[]
  /** The whole environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Working directory in the guest, default `/`. */
  readonly folder?: string
  /** Directory in the guest in which files can be made; none without it. */
  readonly writable?: string
  readonly mounts: readonly GuestMount[]
  /** Host paths of programs whose interpreter and libraries are mounted. */
  readonly libraries?: readonly string[]
  /** Microseconds by which its clocks move on; 0, the default: exact. */
  readonly clockUs?: number
}

/** A program to load into one that waits for it. What is not said here is the base's. */
export interface LoadSpec extends CommonSpec {
  /** Handle of the base. */
  readonly base: number
  /** The frame that makes the base load a program; it does not answer, as it waits for a request instead. */
  readonly frame: Uint8Array
  readonly loading?: LoadingBounds
}

/** A program to go on with, from a file that {@link NativeProgram.save} wrote. */
export interface StoredSpec {
  /** Absolute path of the file. */
  readonly stored: string
  /** Handle of the base that it lies over; 0 for one that lies over none. */
  readonly base: number
}

/** Bounds of a program that is loaded, until its snapshot. Without them those of its requests hold. */
export interface LoadingBounds {
  /** Guest memory while it is loaded and warmed up, if that is more than its requests may use. */
  readonly memoryBytes: number
  /** Guest memory that a request may use in any case, whatever lies in the snapshot. */
  readonly requestBytes: number
  /** Milliseconds that it may have a CPU until it waits for its first request; 0 for no limit. */
  readonly cpuMs: number
}

/** Bounds of a program and its requests. */
export interface ProgramLimits {
  /** Guest memory, 1 MiB to 1 TiB. */
  readonly memoryBytes: number
  /** Longest response body, up to 1 GiB. */
  readonly outputBytes: number
  /** Bytes kept of what a request writes to fd 2. */
  readonly logBytes: number
  /** Milliseconds for boot and warm-up together. */
  readonly bootMs: number
  /** Milliseconds that a request may have a CPU; 0 for no limit. */
  readonly cpuMs: number
  /** System calls of a request; boot and warm-up are not counted. */
  readonly calls: number
  /** Open descriptors, 3 to 65 536, from the boot on. */
  readonly descriptors: number
  /** Threads, 1 to 1024, from the boot on. */
  readonly threads: number
  /** Mappings, 16 to 65 530, from the boot on. */
  readonly mappings: number
}

const HEAD = 8
/** Marks of a warm-up frame. */
const KEEP_ANSWER = 1
const REHEARSE = 2
const GAUGE = 4
const NO_LIMIT = 0xffffffff
const encoder = new TextEncoder()

/** Describes a program. The native side checks what it says; this checks what does not fit the layout (`RangeError`). */
export function encodeSpec(spec: ProgramSpec | LoadSpec | StoredSpec): Uint8Array<ArrayBuffer> {
  const items: (readonly [tag: number, parts: readonly Uint8Array[]])[] = []
  const add = (tag: keyof typeof SPEC_TAGS, ...parts: Uint8Array[]) => items.push([SPEC_TAGS[tag], parts])
  const text = (value: string) => encoder.encode(value)
  const pair = (first: string, second: Uint8Array) => {
    const bytes = text(first)
    return [numbers(bytes.length), bytes, second]
  }
  if ('stored' in spec) {
    add('stored', numbers(spec.base), text(spec.stored))
    return join(items)
  }
  if ('base' in spec) {
    add('base', numbers(spec.base), spec.frame)
    if (spec.loading !== undefined) {
      const { memoryBytes, requestBytes, cpuMs } = spec.loading
      add('loading', long(memoryBytes), long(requestBytes), nanoseconds(cpuMs))
    }
  } else {
    add('path', text(spec.path))
    for (const arg of spec.args) add('argument', text(arg))
    for (const [name, value] of Object.entries(spec.env ?? {})) add('variable', text(`${name}=${value}`))
    if (spec.folder !== undefined) add('folder', text(spec.folder))
    if (spec.writable !== undefined) add('writable', text(spec.writable))
    for (const path of spec.libraries ?? []) add('libraries', text(path))
    if (spec.clockUs) add('clock', numbers(spec.clockUs))
  }
  for (const { guest, host } of spec.mounts ?? []) add('mount', ...pair(guest, text(host)))
  for (const { guest, bytes } of spec.files ?? []) add('file', ...pair(guest, bytes))
  add('limits', encodeLimits(spec.limits))
  for (const entry of spec.warmup ?? []) {
    const { frame, runs, group = 0, timeoutMs = NO_LIMIT } = entry
    const { windowMs = NO_LIMIT, mostMs = NO_LIMIT } = entry
    const marks = (entry.tell ? KEEP_ANSWER : 0) | (entry.rehearse ? REHEARSE : 0) |
      (entry.gauge ? GAUGE : 0)
    add('warmup', numbers(runs, group, marks, timeoutMs, windowMs, mostMs), frame)
  }
  if (spec.reseed === true) add('reseed')
  if (spec.last !== undefined) add('last', spec.last)
  return join(items)
}

function encodeLimits(limits: ProgramLimits): Uint8Array {
  const { memoryBytes, outputBytes, logBytes, bootMs, cpuMs, calls, descriptors, threads, mappings } = limits
  return joinBytes([
    long(memoryBytes),
    numbers(outputBytes, logBytes),
    nanoseconds(bootMs),
    nanoseconds(cpuMs),
    long(calls),
    numbers(descriptors, threads, mappings),
  ])
}

function nanoseconds(ms: number): Uint8Array {
  return long(checkNumber(ms, 0xffffffff) * 1_000_000)
}

function long(value: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(8))
  view.setBigUint64(0, BigInt(checkNumber(value, Number.MAX_SAFE_INTEGER)), true)
  return new Uint8Array(view.buffer)
}

function numbers(...values: number[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(4 * values.length))
  values.forEach((value, index) => view.setUint32(4 * index, checkNumber(value, 0xffffffff), true))
  return new Uint8Array(view.buffer)
}

function checkNumber(value: number, most: number): number {
  if (Number.isSafeInteger(value) && value >= 0 && value <= most) return value
  throw new RangeError(`Cannot describe a program: ${value}, want an integer from 0 to ${most}`)
}

function join(items: readonly (readonly [number, readonly Uint8Array[]])[]): Uint8Array<ArrayBuffer> {
  const lengths = items.map(([, parts]) => parts.reduce((sum, part) => sum + part.length, 0))
  const bytes = new Uint8Array(4 + lengths.reduce((sum, length) => sum + HEAD + length, 0))
  const view = new DataView(bytes.buffer)
  view.setUint32(0, SPEC_VERSION, true)
  let at = 4
  items.forEach(([tag, parts], index) => {
    view.setUint32(at, tag, true)
    view.setUint32(at + 4, lengths[index]!, true)
    at += HEAD
    for (const part of parts) {
      bytes.set(part, at)
      at += part.length
    }
  })
  return bytes
}
