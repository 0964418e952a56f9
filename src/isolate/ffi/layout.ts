/** Numbers and offsets that the Rust side pins with assertions: `native/ffi/src/layout.rs`, `abi.rs` and `spec.rs`. */
import type { OutcomeName } from '../machines/completion.ts'
import type { MachineState } from '../machines/machine_reset.ts'
import { SYMBOLS } from './symbols.ts'

/** What a native call answers instead of a number that is at least 0. */
export const STATUSES = {
  'bad-handle': -1,
  'bad-argument': -2,
  'queue-full': -3,
  'closed': -4,
  'unavailable': -5,
  'boot-failed': -6,
  'not-ready': -7,
  'busy': -8,
  'bad-ticket': -9,
  'system': -10,
  'panic': -11,
  'missing': -12,
  'stale': -13,
} as const

/** Name of a status. */
export type StatusName = keyof typeof STATUSES

/** How a request ended, by its code. */
export const OUTCOMES = [
  'answered',
  'timeout',
  'memory',
  'output',
  'exited',
  'killed',
  'stuck',
  'misbehaved',
  'failed',
  'calls',
  'cpu',
  'called-off',
  'refused',
] as const satisfies readonly OutcomeName[]

/** In the place of an outcome's code: the request is under way, and messages of it are to be heard. */
export const SAID = 0xffff_ffff

/** Parts of what a request left. */
export const PARTS = { response: 0, log: 1, message: 2, denials: 3 } as const

/** What became of the machine of a request, by its code. */
export const MACHINES = ['clean', 'resetting', 'lost'] as const satisfies readonly MachineState[]

/** Flag of a submission: keep the program's state. */
export const KEEP = 1

/** Layout of a program's description. */
export const SPEC_VERSION = 4

/** Flag of a submission: compare the machine with its snapshot afterwards. */
export const CHECK = 2

/** Flag of a submission: the request has a channel, which opens with its first message. */
export const LATE = 4

/** Four bits of a submission's flags from this one on: the weight of its flow, less 1. */
export const WEIGHT_SHIFT = 4

/** A submission's flags from this bit on: its flow. */
export const FLOW_SHIFT = 8

/** Items of a program's description. */
export const SPEC_TAGS = {
  path: 1,
  argument: 2,
  variable: 3,
  folder: 4,
  writable: 5,
  mount: 6,
  file: 7,
  libraries: 8,
  limits: 9,
  warmup: 10,
  reseed: 11,
  clock: 12,
  base: 13,
  last: 14,
  loading: 15,
  stored: 16,
} as const

/** Size of a completion, in bytes. */
export const COMPLETION_BYTES = 96

/** Fields of a completion: offset in bytes and type. */
export const COMPLETION = {
  ticket: [0, 'i32'],
  outcome: [4, 'u32'],
  queue_us: [8, 'f64'],
  run_us: [16, 'f64'],
  reset_us: [24, 'f64'],
  exits: [32, 'u32'],
  dirty_pages: [36, 'u32'],
  response_bytes: [40, 'u32'],
  log_bytes: [44, 'u32'],
  message_bytes: [48, 'u32'],
  detail: [52, 'i32'],
  worker: [56, 'u32'],
  denials_bytes: [60, 'u32'],
  log_dropped: [64, 'u32'],
  machine: [68, 'u32'],
  parked_us: [72, 'f64'],
  parks: [80, 'u32'],
  said: [84, 'u32'],
  heard: [88, 'u32'],
  reserved: [92, 'u32'],
} as const

/** Size of a reset, in bytes. */
export const RESET_BYTES = 24

/** Fields of a reset that ended after its request was answered. */
export const RESET = {
  reset_us: [0, 'f64'],
  ticket: [8, 'i32'],
  dirty_pages: [12, 'u32'],
  machine: [16, 'u32'],
  reserved: [20, 'u32'],
} as const

/** The whole ABI as text, from the tables; the Rust side writes the same from its own. */
export function describeAbi(): string {
  const lines: string[] = []
  for (const [name, { parameters, result }] of Object.entries(SYMBOLS)) {
    lines.push(`fn ${name}(${parameters.join(', ')}) -> ${result}`)
  }
  const structures = [['Completion', COMPLETION_BYTES, COMPLETION], ['Reset', RESET_BYTES, RESET]] as const
  for (const [structure, size, fields] of structures) {
    lines.push(`struct ${structure} ${size}`)
    for (const [name, [offset, type]] of Object.entries(fields)) lines.push(`  ${offset} ${name}: ${type}`)
  }
  for (const [name, value] of Object.entries(STATUSES)) lines.push(`status ${name} = ${value}`)
  for (const [value, name] of OUTCOMES.entries()) lines.push(`outcome ${name} = ${value}`)
  for (const [name, value] of Object.entries(PARTS)) lines.push(`part ${name} = ${value}`)
  for (const [value, name] of MACHINES.entries()) lines.push(`machine ${name} = ${value}`)
  lines.push(
    `outcome said = ${SAID}`,
    `flag keep = ${KEEP}`,
    `flag check = ${CHECK}`,
    `flag late = ${LATE}`,
    `flag weight << ${WEIGHT_SHIFT}`,
    `flag flow << ${FLOW_SHIFT}`,
    `spec version = ${SPEC_VERSION}`,
  )
  for (const [name, tag] of Object.entries(SPEC_TAGS)) lines.push(`spec ${name} = ${tag}`)
  return `${lines.join('\n')}\n`
}

/** FNV-1a of ASCII text, without its top bit. */
export function hashAbi(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash & 0x7fffffff
}
