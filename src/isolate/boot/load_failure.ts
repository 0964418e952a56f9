/**
 * Why a program did not load, for people: the file, the line, and what to do. A machine that was stopped has no stack to show. So a program
 * that worked too long, or took too much memory, is loaded once more, with a look at both in each of its loops, which throws where it finds
 * too much of them.
 */
import { LOAD_CPU_MS } from './base.ts'
import { bootCold } from './boot.ts'
import { ProgramError } from '../compile/compiler.ts'
import { BootError } from '../machines/errors.ts'
import type { NativeLibrary } from '../ffi/library.ts'
import type { NativeProgram } from '../ffi/native_program.ts'
import type { Program } from '../plan/program.ts'
import { createSeed } from '../wire/request_frame.ts'
import { decodeDescription } from '../wire/response_frame.ts'
import { type MappedStack, mapStack } from '../plan/stack.ts'
import { HEADER_MAX } from '../wire/wire.ts'

/** What a guest writes before the stack of a call that ends it, while it loads. */
export const EXIT_MARK = 'mayfly: the program is ended here'
/** After so long a loop of a program that is known to work too long is one of those that do. */
const LOOP_MS = LOAD_CPU_MS / 5
/** Looks at the memory are this far apart, in turns of loops. */
const TURNS = 16

type Cause = 'time' | 'memory' | 'exit'

/** An error with what is known of a load that failed; `error` itself where it was no fault of the program's. Never rejects. */
export async function explainLoad(
  library: NativeLibrary,
  base: NativeProgram,
  plan: Program,
  error: unknown,
): Promise<unknown> {
  // Of a native program there is no text to look at.
  if (!(error instanceof BootError) || error.entry !== null || plan.executable !== undefined) return error
  const cause = causeOf(error.message)
  if (cause === null) return error
  const stack = cause === 'exit' ? exitStack(plan, error.message) : await findLoop(library, base, plan)
  const files = [...new Set(plan.handlers.map(({ route }) => route.file))].join(', ')
  const place = stack?.place ?? null
  return new ProgramError(
    `Cannot load ${files}: ${wordsFor(cause, plan, error.message)}`,
    place === null ? null : { ...place, file: toPath(place.file) },
    { cause: error },
  )
}

function causeOf(message: string): Cause | null {
  const [first] = message.split('\n')
  if (/it (?:worked|took) too long/.test(first!)) return 'time'
  if (first!.includes('OutOfMemory') || /out of memory|Exit\(86\)/i.test(message)) return 'memory'
  return /ended: Exit\(\d+\)/.test(first!) && message.includes(EXIT_MARK) ? 'exit' : null
}

function wordsFor(cause: Cause, { options: { memoryMb } }: Program, message: string): string {
  switch (cause) {
    case 'time':
      return `the code at the top of its modules works longer than ${LOAD_CPU_MS / 1000} s, ` +
        'want it to end: what takes long belongs into a handler'
    case 'memory':
      return `the code at the top of its modules needs more memory than there is, want less of it, or a memoryMb over ${memoryMb}`
    case 'exit':
      return `the code at the top of its modules ends the program with status ${
        /Exit\((\d+)\)/.exec(message)![1]
      }, want it to throw`
  }
}

/** The stack behind the last mark. */
function exitStack({ stacks }: Program, message: string): MappedStack {
  return mapStack(stacks, message.slice(message.lastIndexOf(EXIT_MARK)))
}

/** Where a loop goes on for too long or takes too much; null where no loop does. */
async function findLoop(
  library: NativeLibrary,
  base: NativeProgram,
  plan: Program,
): Promise<MappedStack | null> {
  const code = new TextEncoder().encode(watchLoops(new TextDecoder().decode(plan.bundle.code)))
  try {
    const native = await bootCold(library, base, { ...plan, bundle: { ...plan.bundle, code } }, createSeed())
    try {
      const described = decodeDescription(native.answer(0), { header: HEADER_MAX, body: HEADER_MAX })
      const found = described.handlers.find(({ error }) => error?.name === LOOP_ERROR)
      return found?.error?.stack === undefined ? null : mapStack(plan.stacks, found.error.stack)
    } finally {
      await native.close()
    }
  } catch {
    // It catches all errors, or does it in one call: the file alone is known.
    return null
  }
}

const LOOP_ERROR = 'MayflyLoopError'

/**
 * The text of a bundle with a look in each loop that begins a line, as esbuild prints them; lines stay where they are. A loop that is missed
 * is not found, and that is all: this text serves nobody.
 */
export function watchLoops(code: string): string {
  const watched = code.split('\n').map((line) => {
    const bare = /^(\s*(?:\w+: )?for \(.*; .*; )(.*)\)$/.exec(line)
    if (bare !== null) return `${bare[1]}${bare[2] === '' ? '' : `${bare[2]}, `}__mayflyLook())`
    const found =
      /^(\s*(?:\w+: )?)(while \(|\} while \(|do \{$|for (?:await )?\(.*\) \{$|for (?:await )?\(.*\) ;$)/
        .exec(line)
    if (found === null) return line
    const [, before, loop] = found
    const rest = line.slice(before!.length)
    if (loop!.endsWith('while (')) return `${before}${rest.replace('while (', 'while (__mayflyLook(), ')}`
    return rest.endsWith(';') ? `${before}${rest.slice(0, -1)}__mayflyLook();` : `${line} __mayflyLook();`
  })
  return watched.join('\n') + LOOK
}

const LOOK = `
function __mayflyLook() {
  const look = __mayflyLook;
  look.begin ??= performance.now();
  const isLong = performance.now() - look.begin > ${LOOP_MS};
  look.turns = (look.turns ?? 0) + 1;
  if (!isLong && (look.turns % ${TURNS} !== 0 || !isLarge())) return;
  const error = new Error('here');
  error.name = '${LOOP_ERROR}';
  throw error;
  function isLarge() {
    const v8 = globalThis.process?.getBuiltinModule?.('node:v8');
    if (v8 === undefined) return false;
    const { used_heap_size, heap_size_limit, external_memory } = v8.getHeapStatistics();
    return used_heap_size > heap_size_limit * 0.7 || external_memory > heap_size_limit;
  }
}
`

function toPath(url: string): string {
  return url.startsWith('file://') ? decodeURIComponent(url.slice('file://'.length)) : url
}
