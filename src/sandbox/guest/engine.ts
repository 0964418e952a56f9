/** What differs between the runtimes when a program's modules are run. */
import type { GuestProgram } from '../message.ts'

/** What a module exports. */
export type Namespace = Readonly<Record<string, unknown>>

/** Runs the modules of a program, and gives what its main one exports. Rejects with what it throws. */
export type Evaluate = (program: GuestProgram) => Promise<Namespace>

/** Why an import found nothing, and what to do. */
export function missingModule(specifier: string, from: string): TypeError {
  const message = /^node:/.test(specifier)
    ? "the runtime 'core' has no modules of Node, want the sandbox's runtime: 'deno'"
    : /^(?:https?|npm|jsr|data|blob):/.test(specifier)
    ? 'a program has no network and fetches no packages, want it bundled into the modules'
    : 'it is none of the modules that came with the program, want it among `modules`, or bundled'
  return Object.assign(new TypeError(`Cannot import '${specifier}' from ${from}: ${message}`), {
    code: 'ERR_MODULE_NOT_FOUND',
  })
}
