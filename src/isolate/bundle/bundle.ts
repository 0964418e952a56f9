/**
 * One program of many route files: their code and what it imports. The guest that runs it is a file of its own, the same for all
 * programs. The bundler is loaded when the first bundle is made: a restarted server may have kept all of its own.
 */
import { fromFileUrl } from '@std/path'
import type { Bundle, BundleCache } from './bundle_cache.ts'
import { type BundleInput, type GivenInput, GUEST, type ModuleInput, toGuestImport } from './bundle_input.ts'
import type { IsolateRuntime } from '../plan/options.ts'

export type { Bundle }
export {
  type BundleHandler,
  type BundleInput,
  type GivenInput,
  type ModuleInput,
  RUNTIME_FILE,
} from './bundle_input.ts'

/** What the guest asks of each runtime. */
const HOSTS: Readonly<Record<IsolateRuntime, string>> = { deno: 'deno/deno_host.ts', core: 'core_host.ts' }
const bundled = new Map<IsolateRuntime, Promise<Bundle>>()

/** The guest, bundled once for each runtime, or kept in `cache`. Rejects as {@link bundleProgram} does. */
export function bundleRuntime(runtime: IsolateRuntime, cache?: BundleCache): Promise<Bundle> {
  const host = toGuestImport(HOSTS[runtime])
  const entry = `${runtime === 'core' ? `export { defineModule, runModule } from ${host}` : `import ${host}`}
import ${toGuestImport('prelude.ts')}
export { awaitProgram, practiseLoading } from ${toGuestImport('load.ts')}
export { beforeRequest, prime, serve } from ${toGuestImport('serve.ts')}
export { CLOSED, listen, send } from ${toGuestImport('host_channel.ts')}
export { toReach } from ${toGuestImport('reach.ts')}
export * from ${toGuestImport('facade.ts')}
export * from ${toGuestImport('modules.ts')}
`
  const known = bundled.get(runtime)
  if (known !== undefined) return known
  const make = () => bundleOwn(runtime, entry)
  // All that it imports is Mayfly's own, by its whole name: nothing could take the place of a file that is there.
  const taken = cache?.take(['guest', runtime, entry], fromFileUrl(GUEST), make).then(({ bundle }) => bundle)
  const made = (taken ?? make()).catch((error) => {
    bundled.delete(runtime)
    throw error
  })
  bundled.set(runtime, made)
  return made
}

/** Bundles modules of Mayfly's own that run beside the guest; `entry` names them by their absolute paths. Rejects as {@link bundleProgram} does. */
export async function bundleOwn(runtime: IsolateRuntime, entry: string): Promise<Bundle> {
  const { makeOwn } = await load()
  return await makeOwn(runtime, entry)
}

/**
 * Bundles a program. Rejects with `ProgramError` with file and line for what does not parse, cannot be found, or is not exported
 * where it is imported.
 */
export async function bundleProgram(input: BundleInput): Promise<Bundle> {
  const { makeProgram } = await load()
  return await makeProgram(input)
}

/**
 * Bundles one module: its exports are those of the bundle, `default` among them. The source map names modules from `root`. Rejects as
 * {@link bundleProgram} does.
 */
export async function bundleModule(input: ModuleInput): Promise<Bundle> {
  const { makeModule } = await load()
  return await makeModule(input)
}

/** Bundles modules that are handed in with their packages, as {@link bundleModule}. Files of the project are not theirs to import; the source map has their names. */
export async function bundleGiven(input: GivenInput): Promise<Bundle> {
  const { makeGiven } = await load()
  return await makeGiven(input)
}

function load(): Promise<typeof import('./bundler.ts')> {
  return import('./bundler.ts')
}
