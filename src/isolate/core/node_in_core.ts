/** Node's modules in the runtime `core`: substitutes for those that need no system, and an error for the others. */

/** Specifiers of Mayfly's own import map. Each does what Node's does for what packages use, or throws when it is called. */
const SUBSTITUTES: ReadonlyMap<string, string> = new Map([
  ['assert', 'node-in-core/assert'],
  ['assert/strict', '../guest/node/assert_strict.ts'],
  ['buffer', 'unenv/node/buffer'],
  ['console', '../guest/node/console.ts'],
  ['events', 'node-in-core/events'],
  ['path', 'node-in-core/path'],
  ['path/posix', 'node-in-core/path'],
  ['perf_hooks', '../guest/node/perf_hooks.ts'],
  ['process', '../guest/node/process.ts'],
  ['punycode', 'unenv/node/punycode'],
  ['querystring', 'unenv/node/querystring'],
  ['stream', 'node-in-core/stream'],
  ['stream/promises', '../guest/node/stream_promises.ts'],
  ['string_decoder', 'node-in-core/string_decoder'],
  ['sys', '../guest/node/util.ts'],
  ['timers', 'unenv/node/timers'],
  ['timers/promises', 'unenv/node/timers/promises'],
  ['url', 'unenv/node/url'],
  ['util', '../guest/node/util.ts'],
  ['util/types', '../guest/node/util_types.ts'],
])

/** Never called: what literal imports name is in Deno's graph, and so it is resolved and installed with Mayfly. */
export const SUBSTITUTE_GRAPH: readonly (() => Promise<unknown>)[] = [
  () => import('node-in-core/assert'),
  () => import('node-in-core/events'),
  () => import('node-in-core/path'),
  () => import('node-in-core/stream'),
  () => import('node-in-core/string_decoder'),
  () => import('node-in-core/util'),
  () => import('unenv/node/buffer'),
]

/** What an import of `node:name` means in core: a specifier as a module of this folder writes it, or null where there is nothing for it. */
export function substituteOf(builtin: string): string | null {
  return SUBSTITUTES.get(builtin.replace(/^node:/, '')) ?? null
}

/** Why there is none. */
export function missingReason(builtin: string): string {
  return `the runtime 'core' has no ${builtin}, want isolated = { runtime: 'deno' }`
}

/** Globals of Node that packages lean on, and the modules that export them. */
export const NODE_GLOBALS: Readonly<Record<string, string>> = {
  Buffer: '../guest/node/buffer_global.ts',
  process: '../guest/node/process_global.ts',
}
