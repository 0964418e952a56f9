import type { Context } from '@mayfly/mayfly'
import JSZip from 'jszip'
import { ARTICLE } from '~/texts.ts'

export const inputs = [
  { json: { 'read me.txt': ARTICLE, 'data/größe.json': '{"a":1}' } },
  { json: { 'one.txt': 'x'.repeat(5000) } },
]

const DATE = new Date('2026-01-02T03:04:06Z')

export async function POST(ctx: Context) {
  const zip = new JSZip()
  for (
    const [name, text] of Object.entries(
      await ctx.get.json<Record<string, string>>(),
    )
  ) {
    zip.file(name, text, { date: DATE, createFolders: false })
  }
  const bytes = await zip.generateAsync({
    type: 'uint8array',
    compression: 'DEFLATE',
  })
  const back = await JSZip.loadAsync(bytes)
  ctx.set.header('x-entries', String(Object.keys(back.files).length))
  return ctx.send.download(bytes.slice(), 'files.zip')
}
