/**
 * Attacks on the host's time and memory, each of which once worked: by system calls of a native program, and by what a handler answers,
 * throws or prints. A folder of routes has them as `/native/NAME` and `/handler?what=NAME`.
 */
import { fromFileUrl, join } from '@std/path'

/** The native program, in C: asks for one thing again and again until a limit ends it. */
export const ATTACKING_PROGRAM = fromFileUrl(new URL('./host_attacks.c', import.meta.url))

/** Attacks by system calls. All go on until the deadline or a limit. */
export const BY_CALLS = [
  'readv',
  'pwritev',
  'random-bytes',
  'nested-sets',
  'shrunk-files',
  'mapped-paths',
  'long-maps',
  'symbolic-links',
  'first-writes',
] as const

/** Statements of a handler by the name of the attack: what the server's thread then reads. */
const STATEMENTS: Readonly<Record<string, string>> = {
  headers: `return new Response('x', { headers: Array.from({ length: 80_000 }, (_, i) => ['x-' + i, '']) })`,
  'set-headers':
    `for (let i = 0; i < 20_000; i++) ctx.set.header('x-' + i % 90, 'a')\n    return ctx.send.text('x')`,
  cookies:
    `for (let i = 0; i < 20_000; i++) ctx.set.cookie('c' + i % 90, 'a')\n    return ctx.send.text('x')`,
  stack: `throw Object.assign(new Error('x'), { stack: 'Error: x\\n    at ' + '('.repeat(8000) + ':1:2)' })`,
  'stack-spaces': `throw Object.assign(new Error('x'), { stack: ' '.repeat(8000) + 'x' })`,
  'stack-file':
    `throw Object.assign(new Error('x'), { stack: 'Error: x\\n    at f (file:///dev/zero:1:1)' })`,
  message: `throw new Error('\\u001b[2J'.repeat(100_000))`,
  log: `for (;;) console.error('\\u001b[2J'.repeat(1000))`,
  state: `ctx.state.deep = JSON.parse('['.repeat(5000) + ']'.repeat(5000))\n    return ctx.send.text('x')`,
}

/** Attacks by what a handler answers, throws or prints. */
export const BY_ANSWERS: readonly string[] = Object.keys(STATEMENTS)

/** Writes the routes of the attacks that a handler does into a folder. */
export async function writeAttackingHandler(folder: string): Promise<void> {
  const cases = Object.entries(STATEMENTS).map(([name, text]) => `  case '${name}':\n    ${text}`)
  await Deno.writeTextFile(
    join(folder, 'handler.ts'),
    `export const isolated = { timeoutMs: 60_000, cpuMs: 300, memoryMb: 64, may: ['state'], warmup: 0 }
export function GET(ctx) {
  switch (ctx.get.query('what')) {
${cases.join('\n')}
  default:
    return ctx.send.text('clean')
  }
}
`,
  )
}

/** Writes the route of the attacks by system calls into a folder, in which {@link ATTACKING_PROGRAM} is compiled as `_attacks`. */
export async function writeAttackingNative(folder: string): Promise<void> {
  await Deno.writeTextFile(
    join(folder, 'native.ts'),
    `export const isolated = { program: './_attacks', timeoutMs: 60_000, cpuMs: 1000, memoryMb: 64 }\n`,
  )
}
