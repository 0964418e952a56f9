import { basename, resolve } from '@std/path'
import { toDisposition } from '../context/send.ts'
import { HttpError } from '../errors/http_error.ts'
import { isMissing } from './file_errors.ts'
import { type FileRequest, sendFile } from './send_file.ts'

/**
 * One file of the host, for `ctx.send.file`: with type, ETag, ranges and 304 as in a static folder. `init.headers` win over the
 * file's own; with `init.status` the file is sent whole under that status; `filename` makes it a download of that name.
 * Rejects with 404 when `path` leads to no file that can be read.
 */
export async function serveFile(
  request: FileRequest,
  path: string,
  init: ResponseInit & { filename?: string } = {},
): Promise<Response> {
  const { filename, status } = init
  const full = resolve(path)
  const headers: Record<string, string> = {}
  if (filename !== undefined) headers['content-disposition'] = toDisposition(filename)
  const asked = status === undefined
    ? request
    : { method: request.method, url: request.url, headers: new Headers() }
  try {
    const info = await Deno.stat(full)
    if (!info.isFile) throw new Deno.errors.NotFound(`${full} is no file`)
    const response = await sendFile(asked, {
      path: full,
      info,
      name: basename(full),
      coding: undefined,
      headers,
    })
    for (const [name, value] of new Headers(init.headers)) response.headers.set(name, value)
    if (status === undefined || status === response.status) return response
    const more = init.statusText === undefined ? {} : { statusText: init.statusText }
    return new Response(response.body, { status, headers: response.headers, ...more })
  } catch (error) {
    if (isMissing(error)) throw new HttpError(404, undefined, { cause: error })
    throw error
  }
}
