import { basename, join } from '@std/path'
import type { Context } from '../context/types.ts'
import { HttpError } from '../errors/http_error.ts'
import { isMissing } from './file_errors.ts'
import { locate, type Located, toFileName } from './locate.ts'
import { covers, type StaticMount } from './mount.ts'
import { findCompressed } from './precompressed.ts'
import { type FileRequest, sendFile } from './send_file.ts'

const ALLOW = 'GET, HEAD, OPTIONS'

/** Called with a path that mounts cover and no file answers: no such file, or a name that is never served. */
export type MissingHook = (path: string, reason: 'missing' | 'refused') => void

/**
 * Asks the mounts that cover `path`, in their order (see `sortMounts`), until one has it. `path` is in the router's normal form.
 * Undefined when none has it; `onMissing` is called once then, unless no mount covers the path at all. Rejects with 405 when a file
 * has it and the method is not GET, HEAD or OPTIONS.
 */
export async function serveStatic(
  mounts: readonly StaticMount[],
  request: FileRequest,
  path: string,
  ctx: Context,
  onMissing?: MissingHook,
): Promise<Response | undefined> {
  let reason: 'missing' | 'refused' | undefined
  for (const mount of mounts) {
    if (!covers(mount, path)) continue
    const result = await serveMount(mount, request, path, ctx)
    if (result instanceof Response) return result
    if (reason !== 'refused') reason = result
  }
  if (reason !== undefined) onMissing?.(path, reason)
  return undefined
}

async function serveMount(
  mount: StaticMount,
  request: FileRequest,
  path: string,
  ctx: Context,
): Promise<Response | 'missing' | 'refused'> {
  const { rules } = mount
  const folderAsked = path.endsWith('/')
  const name = toFileName(path.slice(mount.prefix.length + 1, folderAsked ? -1 : undefined))
  if (name === undefined) return 'refused'
  const dir = typeof rules.dir === 'function' ? await rules.dir(ctx) : rules.dir
  const readable = request.method === 'GET' || request.method === 'HEAD'
  if (dir instanceof Response) return readable ? dir : 'missing'
  if (dir === undefined) return 'missing'

  let found: Located = await locate(dir, name)
  if (typeof found === 'string') return found
  if (found.info.isDirectory) {
    if (rules.index === undefined) return 'missing'
    found = await locate(dir, join(name, rules.index))
    if (typeof found === 'string') return found
    if (!folderAsked && found.info.isFile && readable) return toFolder(request.url)
  } else if (folderAsked) {
    return 'missing'
  }
  // Neither folders nor pipes, sockets and devices, which may never end.
  if (!found.info.isFile) return 'missing'
  if (request.method === 'OPTIONS') {
    return new Response(null, { status: 204, headers: { allow: ALLOW } })
  }
  if (!readable) {
    throw new HttpError(405, `The method is not allowed here, want ${ALLOW}`, { headers: { allow: ALLOW } })
  }
  try {
    return await send(mount, request, found.path, found.info)
  } catch (error) {
    // It went away after it was found.
    if (isMissing(error)) return 'missing'
    throw error
  }
}

async function send(
  mount: StaticMount,
  request: FileRequest,
  path: string,
  info: Deno.FileInfo,
): Promise<Response> {
  const { precompressed, cacheControl } = mount.rules
  const headers: Record<string, string> = {}
  if (cacheControl !== undefined) headers['cache-control'] = cacheControl
  if (precompressed) headers.vary = 'Accept-Encoding'
  const compressed = precompressed
    ? await findCompressed(request.headers.get('accept-encoding'), path, info)
    : undefined
  const file = { name: basename(path), headers }
  if (compressed !== undefined) return sendFile(request, { ...file, ...compressed })
  return sendFile(request, { ...file, path, info, coding: undefined })
}

/** 308 to the same folder with a slash, so that its relative links work. The path has no empty segment, so it names no host. */
function toFolder(url: string): Response {
  const { pathname, search } = new URL(url)
  return new Response(null, { status: 308, headers: { location: `${pathname}/${search}` } })
}
