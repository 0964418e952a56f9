/** workerd, of an npm package that nothing but this benchmark needs. */
import { fromFileUrl } from '@std/path'
import { type RunningServer, startCommand } from '../server.ts'
import { output } from './output.ts'

const FOLDER = fromFileUrl(new URL('./workerd/', import.meta.url))

/** A binary that runs here. */
export interface Workerd {
  readonly path: string
  /** As it says itself: `workerd 2026-11-17`. */
  readonly version: string
}

/** Gets the package of `workerd/deno.lock` if need be. Rejects where it cannot be had, or does not run. */
export async function findWorkerd(): Promise<Workerd> {
  await output(FOLDER, Deno.execPath(), ['install', '--quiet', '--frozen'])
  const config = ['--config', `${FOLDER}deno.json`, '--frozen']
  const path = fromFileUrl(
    await output(FOLDER, Deno.execPath(), ['run', '--no-prompt', ...config, `${FOLDER}find.ts`]),
  )
  return { path, version: await output(FOLDER, path, ['--version']) }
}

/** Starts it with its worker loader. */
export async function startWorkerd({ path, version }: Workerd): Promise<RunningServer> {
  return await startCommand((port) => ({
    name: version,
    command: path,
    args: [
      'serve',
      '--experimental',
      `--socket-addr=http=127.0.0.1:${port}`,
      `${FOLDER}config.capnp`,
    ],
  }))
}
