/** What the host asks a machine that waits for code, as a value of `src/values/format.ts`; the answer is one too, or a response. */

import type { ReachNames } from '../reach/calls/protocol.ts'

/** What a module is made of. `data` are bytes, `wasm` bytes that are compiled. */
export type ModuleKind = 'js' | 'ts' | 'json' | 'text' | 'data' | 'wasm'

/** A module of a program: its name, what it is, and its text or bytes (of JSON, the value's text). */
export type ModuleEntry = readonly [name: string, kind: ModuleKind, content: string | Uint8Array<ArrayBuffer>]

/** A program: modules, and the name of the one that is run. */
export interface GuestProgram {
  readonly main: string
  readonly modules: readonly ModuleEntry[]
}

/** What is asked of a program. */
export interface Call {
  /** The program, unless the machine has it. */
  readonly program: GuestProgram | undefined
  /** The export that is asked; null: the program is loaded, and the names of its exports are the value. */
  readonly entrypoint: string | null
  /** Its method; undefined: the export itself is the function, or the value. */
  readonly method: string | undefined
  readonly args: readonly unknown[]
  /** What a class is made with, and `fetch` is given; undefined: what the machine has. */
  readonly env: Readonly<Record<string, unknown>> | undefined
  readonly props: unknown
  /** What it may ask of the host; undefined: nothing, or what the machine knows. */
  readonly reach: ReachNames | undefined
}

/**
 * A {@link Call} on its way: its members in their order. JSON has no undefined, and a message that is all JSON is read the quickest, so
 * null stands for it, and props are in an array of their own where there are any.
 */
export type CallMessage = readonly [
  program: GuestProgram | null,
  entrypoint: string | null,
  method: string | null,
  args: readonly unknown[],
  env: Readonly<Record<string, unknown>> | null,
  props: readonly [unknown] | null,
  reach: ReachNames | null,
]

/** A call as it is told. */
export function toCallMessage({ program, entrypoint, method, args, env, props, reach }: Call): CallMessage {
  return [
    program ?? null,
    entrypoint,
    method ?? null,
    args,
    env ?? null,
    props === undefined ? null : [props],
    reach ?? null,
  ]
}

/** The call that was told. By index: taking an array apart as a whole is an iterator's work, which QuickJS does step by step. */
export function fromCallMessage(message: CallMessage): Call {
  const props = message[5]
  return {
    program: message[0] ?? undefined,
    entrypoint: message[1],
    method: message[2] ?? undefined,
    args: message[3],
    env: message[4] ?? undefined,
    props: props === null ? undefined : props[0],
    reach: message[6] ?? undefined,
  }
}

/** A request for a program; what it asks for stands in the frame's header. */
export interface FetchCall extends Pick<Call, 'program' | 'env' | 'props' | 'reach'> {
  readonly entrypoint: string
  readonly body: Uint8Array<ArrayBuffer>
}

/** The answer to a {@link Call}: what came of it, or what was thrown, and the microseconds in which its modules were loaded. */
export type CallAnswer = readonly [ok: boolean, outcome: unknown, loadMicros: number]

/** Where the modules of a program lie in a machine; nothing else of it does. Stacks name them so, core with a number: `file:///app:7/`. */
export const MODULE_ROOT = 'file:///app/'

/** Numbers of the runner's handlers on the wire. */
export const CALL_HANDLER = 0
export const FETCH_HANDLER = 1
/** A request for the default export of a program that the machine has, as it is: nothing else comes with it. */
export const PLAIN_FETCH_HANDLER = 2
/** The same with props that are plain: a word of {@linkcode PROPS_HEAD_BYTES} with the bytes of their JSON, that JSON, the request's body. */
export const PROPS_FETCH_HANDLER = 3
/** Little endian. */
export const PROPS_HEAD_BYTES = 4
