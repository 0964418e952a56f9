import { contentType } from '@std/media_types'
import { extname } from '@std/path'
import { fileParts, type Part, wholeFile } from './body.ts'
import { preconditionStatus, rangeIsCurrent, toValidators } from './conditional.ts'
import { toMultipart } from './multipart.ts'
import { parseRanges } from './range.ts'

/** The part of a request that a file's answer depends on. */
export type FileRequest = Pick<Request, 'method' | 'headers' | 'url'>

/** A file that was found, and how to send it. */
export interface FoundFile {
  readonly path: string
  readonly info: Deno.FileInfo
  /** The name that the media type is taken from. */
  readonly name: string
  /** The file holds `name` in this content coding. */
  readonly coding: string | undefined
  /** Headers of every answer, 304 included. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Answers GET or HEAD with a file: 200, 206, 304, 412 or 416. The file is open only while a body is read from it. Rejects with the
 * system's error when it is gone by now.
 */
export async function sendFile(request: FileRequest, file: FoundFile): Promise<Response> {
  const { info, coding } = file
  const validators = toValidators(info, coding)
  const headers: Record<string, string> = { ...file.headers, etag: validators.etag }
  if (validators.modified !== undefined) {
    headers['last-modified'] = new Date(validators.modified).toUTCString()
  }

  const status = preconditionStatus(request.headers, validators)
  if (status !== undefined) return new Response(null, { status, headers })

  const type = contentType(extname(file.name)) ?? 'application/octet-stream'
  headers['content-type'] = type
  headers['accept-ranges'] = 'bytes'
  if (coding !== undefined) headers['content-encoding'] = coding
  // Range is for GET alone, section 14.2.
  if (request.method === 'GET' && rangeIsCurrent(request.headers, validators)) {
    const ranges = parseRanges(request.headers.get('range'), info.size)
    if (ranges !== undefined) return sendRanges(file, ranges, type, headers)
  }
  headers['content-length'] = String(info.size)
  if (request.method === 'HEAD') return new Response(null, { headers })
  const body = await wholeFile(file.path, info.size)
  if (body !== undefined) return new Response(body, { headers })
  return sendFile(request, { ...file, info: await Deno.stat(file.path) })
}

async function sendRanges(
  { path, info: { size } }: FoundFile,
  ranges: ReturnType<typeof parseRanges> & object,
  type: string,
  headers: Record<string, string>,
): Promise<Response> {
  if (ranges.length === 0) {
    delete headers['content-encoding']
    headers['content-range'] = `bytes */${size}`
    headers['content-type'] = 'text/plain; charset=utf-8'
    return new Response(`The file has ${size} bytes\n`, { status: 416, headers })
  }
  let parts: readonly Part[] = ranges
  if (ranges.length === 1) {
    const { start, end } = ranges[0]!
    headers['content-range'] = `bytes ${start}-${end}/${size}`
    headers['content-length'] = String(end - start + 1)
  } else {
    const multipart = toMultipart(ranges, type, size)
    headers['content-type'] = multipart.contentType
    headers['content-length'] = String(multipart.contentLength)
    parts = multipart.parts
  }
  return new Response(await fileParts(path, parts), { status: 206, headers })
}
