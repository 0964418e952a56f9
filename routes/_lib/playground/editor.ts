/** The editor as one script: CodeMirror from npm, bundled by esbuild at its first use, and kept. */
import { encodeBase64Url } from '@std/encoding/base64url'
import { fromFileUrl, toFileUrl } from '@std/path'
import {
  type PluginBuild,
  type ResolveArguments,
  type ResolveResult,
  runBuild,
} from '../../../src/isolate/compile/compiler.ts'
import { installPackage, resolveImport, toPath } from '../../../src/isolate/resolve/deno_resolve.ts'

/** The script and its digest. */
export interface Editor {
  readonly code: Uint8Array<ArrayBuffer>
  readonly etag: string
}

const ENTRY = new URL('./editor_entry.js', import.meta.url)

/** A function that gives the editor; it is bundled at the first call, and again after a failure. */
export function createEditor(): () => Promise<Editor> {
  let kept: Promise<Editor> | undefined
  return () =>
    kept ??= bundle().catch((error) => {
      kept = undefined
      throw error
    })
}

async function bundle(): Promise<Editor> {
  const { outputFiles } = await runBuild('bundle the editor of the playground', {
    entryPoints: [fromFileUrl(ENTRY)],
    plugins: [{
      name: 'packages',
      setup: (build: PluginBuild) => build.onResolve({ filter: /^[^./]/ }, resolvePackage),
    }],
    bundle: true,
    write: false,
    metafile: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    legalComments: 'none',
    outfile: '/editor.js',
  }, (path) => path)
  const code = outputFiles[0].contents
  const digest = await crypto.subtle.digest('SHA-256', code)
  return { code, etag: `"${encodeBase64Url(digest).slice(0, 22)}"` }
}

/** Packages lie in Deno's cache, which esbuild does not know. */
async function resolvePackage(
  { path, importer, kind }: ResolveArguments,
): Promise<ResolveResult | undefined> {
  if (kind === 'entry-point') return undefined
  const parent = toFileUrl(importer).href
  if (parent === ENTRY.href) await installPackage(path)
  return { path: toPath(await resolveImport(path, parent)) }
}
