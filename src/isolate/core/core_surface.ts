/** The Web surface of the small guest, as the one file that runs before its programs. */
import { fromFileUrl } from '@std/path'
import { runBuild } from '../compile/compiler.ts'

/** Where the surface lies in a guest; stacks name it by this. */
export const SURFACE_PATH = '/surface.js'

const ENTRY = new URL('../../../native/guest-core/web/main.ts', import.meta.url)

let bundled: Promise<Uint8Array<ArrayBuffer>> | null = null

/** The surface as a module. The same sources give the same bytes; it is made once for the process. */
export function bundleSurface(): Promise<Uint8Array<ArrayBuffer>> {
  return bundled ??= bundle().catch((error) => {
    bundled = null
    throw error
  })
}

async function bundle(): Promise<Uint8Array<ArrayBuffer>> {
  const { outputFiles } = await runBuild('bundle the Web surface of the small guest', {
    entryPoints: [fromFileUrl(ENTRY)],
    bundle: true,
    write: false,
    // Fixed, so that names in the output do not depend on where the process runs.
    absWorkingDir: '/',
    outfile: SURFACE_PATH,
    platform: 'neutral',
  }, (path) => path)
  return outputFiles[0]!.contents
}
