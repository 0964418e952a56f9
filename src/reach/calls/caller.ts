/** Who calls a binding. */
import type { AsyncLocalStorage } from 'node:async_hooks'

/** What a binding's function may know of its call. */
export interface Caller {
  /** Name of the program, or of the isolated file. */
  readonly program: string
  /** Aborts when nobody waits for the call any longer. */
  readonly signal: AbortSignal
}

let storage: AsyncLocalStorage<Caller> | undefined

/** The program whose call runs; undefined outside of calls. */
export function caller(): Caller | undefined {
  return storage?.getStore()
}

/** Runs `work` as a call of `caller`. */
export function callAs<T>(caller: Caller, work: () => T): T {
  storage ??= new (process.getBuiltinModule('node:async_hooks').AsyncLocalStorage)()
  return storage.run(caller, work)
}
