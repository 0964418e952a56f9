/** Programs of a benchmark: made of texts, and asked without HTTP. */
import { join } from '@std/path'
import { planPrograms, type Program } from '../../src/isolate/plan/program.ts'
import { createSeed, encodeRequest } from '../../src/isolate/wire/request_frame.ts'

/** Writes the routes, each a file of `folder` that answers GET at its own path, and plans their programs. Rejects for one that cannot be. */
export async function planTexts(
  folder: string,
  texts: Readonly<Record<string, string>>,
): Promise<readonly Program[]> {
  const routes = []
  for (const [file, text] of Object.entries(texts)) {
    const path = join(folder, file)
    await Deno.writeTextFile(path, text)
    routes.push({ file, path, pattern: `/${file}`, methods: ['GET'], mount: false })
  }
  const { programs, failures } = await planPrograms(routes)
  for (const { error } of failures) throw error
  return programs
}

/** The frame of a GET for a program's first handler. */
export function encodeGet(): Uint8Array<ArrayBuffer> {
  return encodeRequest({
    handler: 0,
    method: 'GET',
    url: 'http://localhost/',
    path: '/',
    headers: [['host', 'localhost']],
    seed: createSeed(),
  })
}
