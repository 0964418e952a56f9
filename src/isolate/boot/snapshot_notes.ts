/** What a program's snapshot on disk depends on, and what lies beside it in the file. */
import { hexDigest } from '../../context/hex_digest.ts'
import { toLoadSpec } from './base.ts'
import type { HeldBase } from './base.ts'
import type { NativeProgram } from '../ffi/native_program.ts'
import type { HandlerTrial } from '../machines/trial.ts'
import type { Program } from '../plan/program.ts'
import { withoutSeed } from '../wire/request_frame.ts'
import { decodeDescription } from '../wire/response_frame.ts'
import { HEADER_MAX } from '../wire/wire.ts'

/** What lies beside a program. */
export interface SnapshotNotes {
  /** What its modules drew from. */
  readonly seed: string
  /** How its handlers ran in a fork. */
  readonly trials: readonly HandlerTrial[]
  /** The handlers whose answers show what the warm-up left; null where nobody looked. */
  readonly residue: readonly string[] | null
}

/** All that a program's snapshot follows from beside the host. */
export async function snapshotParts(
  plan: Program,
  { name, native }: Pick<HeldBase, 'name' | 'native'>,
): Promise<(string | Uint8Array)[]> {
  const { files = [], limits, loading } = toLoadSpec(plan, native, '')
  const warmup = await Promise.all(plan.warmup.map(async ({ handler, frame, count, tried }) => {
    return [handler, count, tried, await hexDigest(withoutSeed(frame))]
  }))
  const { timeoutMs, ephemeral } = plan.options
  const rest = JSON.stringify([limits, loading, timeoutMs, ephemeral, warmup])
  return ['program', name, plan.hash, rest, ...files.flatMap(({ guest, bytes }) => [guest, bytes])]
}

/** Whether a module of the program threw as it was loaded: it may not the next time. */
export function failsToLoad(native: NativeProgram): boolean {
  const { handlers } = decodeDescription(native.answer(0), { header: HEADER_MAX, body: HEADER_MAX })
  return handlers.some(({ error }) => error !== undefined)
}

/** The notes as bytes. */
export function encodeNotes(notes: SnapshotNotes): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(notes))
}

/** Notes that {@link encodeNotes} wrote; null for what is none. */
export function decodeNotes(bytes: Uint8Array): SnapshotNotes | null {
  let notes: Partial<Record<keyof SnapshotNotes, unknown>> | null
  try {
    notes = JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return null
  }
  const { seed, trials, residue } = notes ?? {}
  const isSound = typeof seed === 'string' && Array.isArray(trials) && trials.every(isTrial) &&
    (residue === null || Array.isArray(residue) && residue.every((name) => typeof name === 'string'))
  return isSound ? { seed, trials, residue } : null
}

function isTrial(value: Partial<Record<keyof HandlerTrial, unknown>> | null): boolean {
  const { handler, shape, warmUs, runUs } = value ?? {}
  return typeof shape === 'string' && [handler, warmUs, runUs].every((number) => typeof number === 'number')
}
