import type { Context } from '@mayfly/mayfly'
import jsonpatch from 'fast-json-patch'
import { DOCUMENT } from '~/texts.ts'

export const inputs = [
  {
    json: [{ op: 'replace', path: '/title', value: 'Größe' }, { op: 'remove', path: '/people/0' }, {
      op: 'copy',
      from: '/people/0/name',
      path: '/none',
    }],
  },
  { json: [{ op: 'test', path: '/version', value: 4 }] },
]

export async function POST(ctx: Context) {
  try {
    const { newDocument } = jsonpatch.applyPatch(structuredClone(DOCUMENT), await ctx.get.json(), true)
    return ctx.send.json({ patch: jsonpatch.compare(DOCUMENT, newDocument), title: newDocument.title })
  } catch (error) {
    if (!(error instanceof jsonpatch.JsonPatchError)) throw error
    return ctx.send.json({ name: error.name, index: error.index }, { status: 409 })
  }
}
