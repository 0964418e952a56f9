import type { Context } from '@mayfly/mayfly'
import { gzipSync, strFromU8, strToU8, unzipSync, zipSync } from 'fflate'
import { ARTICLE } from '~/texts.ts'

export const inputs = [
  { json: { 'größe.txt': ARTICLE, 'a/b.txt': 'b'.repeat(500) } },
  { json: { 'leer.txt': '' } },
]

const MTIME = new Date(2026, 0, 2)

export async function POST(ctx: Context) {
  const files = await ctx.get.json<Record<string, string>>()
  const data = Object.fromEntries(Object.entries(files).map(([name, text]) => [name, strToU8(text)]))
  const zipped = zipSync(data, { level: 6, mtime: MTIME })
  const back = unzipSync(zipped)
  const same = Object.entries(files).every(([name, text]) => strFromU8(back[name]) === text)
  const gzipped = gzipSync(zipped, { mtime: 0 })
  return ctx.send.custom(zipped.slice(), {
    headers: { 'x-same': String(same), 'x-gzip': String(gzipped.length) },
  })
}
