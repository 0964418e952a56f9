import type { Context } from '@mayfly/mayfly'
import { enablePatches, produceWithPatches } from 'immer'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { json: { rename: { from: 'Ann', to: 'Änne' }, birthday: 'Bob' } },
  { json: { remove: 'Zoë' } },
]

enablePatches()
const STATE = { people: PEOPLE, changes: 0 }

export async function POST(ctx: Context) {
  const { rename, birthday, remove } = await ctx.get.json<{
    rename?: { from: string; to: string }
    birthday?: string
    remove?: string
  }>()
  const [next, patches] = produceWithPatches(STATE, (draft) => {
    draft.changes++
    for (const person of draft.people) {
      if (person.name === rename?.from) person.name = rename.to
      if (person.name === birthday) person.age++
    }
    draft.people = draft.people.filter(({ name }) => name !== remove)
  })
  return ctx.send.json({
    patches,
    count: next.people.length,
    kept: next.people[0] === STATE.people[0],
  })
}
