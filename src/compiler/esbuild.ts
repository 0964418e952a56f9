/** esbuild's process, which all routers of a program share. */

/** What every user of esbuild sees of it; each adds the calls that it makes. */
export interface Stoppable {
  stop(): Promise<void>
}

let loaded: Stoppable | null = null
/** Works that go on. */
let users = 0
let idle: PromiseWithResolvers<void> | null = null

/**
 * Gives esbuild to `work`, and its process runs until that has settled. `Api` has the calls that are made, as the package's own types are
 * not resolved under every configuration.
 */
export async function useEsbuild<Api extends Stoppable, T>(work: (esbuild: Api) => Promise<T>): Promise<T> {
  users++
  try {
    return await work((loaded ??= await import('esbuild') as Stoppable) as Api)
  } catch (error) {
    throw explain(error)
  } finally {
    if (--users === 0) {
      idle?.resolve()
      idle = null
    }
  }
}

/** esbuild is a process, and without the permission for one it fails in its own wrapper with words that do not say why. */
function explain(error: unknown): unknown {
  const isTold = typeof error === 'object' && error !== null && 'errors' in error
  if (isTold || Deno.permissions.querySync({ name: 'run' }).state === 'granted') return error
  const isRefused = error instanceof Deno.errors.NotCapable || error instanceof TypeError
  if (!isRefused || !/unref|run access/.test(error.message)) return error
  return new Deno.errors.NotCapable(
    'Cannot start esbuild, which compiles isolated routes and JSX: it may not run, run again with the --allow-run flag (or -A)',
  )
}

/** esbuild itself, for calls that do not wait: each has a process of its own. */
export async function loadEsbuild<Api extends Stoppable>(): Promise<Api> {
  return await import('esbuild') as unknown as Api
}

/**
 * Ends the process, if it runs, once no work goes on: one that is ended before, by another router say, would never settle. The next work
 * starts another.
 */
export async function stopEsbuild(): Promise<void> {
  while (users > 0) await (idle ??= Promise.withResolvers<void>()).promise
  const running = loaded
  loaded = null
  await running?.stop()
}
