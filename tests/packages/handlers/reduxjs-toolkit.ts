import type { Context } from '@mayfly/mayfly'
import {
  configureStore,
  createEntityAdapter,
  createSelector,
  createSlice,
  type PayloadAction,
} from '@reduxjs/toolkit'
import { PEOPLE, type Person } from '~/texts.ts'

export const inputs = [
  { json: { rename: { id: 'Ann', name: 'Änne' }, remove: ['Bob'] } },
  { json: { remove: PEOPLE.slice(0, 10).map(({ name }) => name) } },
]

const adapter = createEntityAdapter({
  selectId: ({ name }: Person) => name,
  sortComparer: (a, b) => a.age - b.age,
})
const slice = createSlice({
  name: 'people',
  initialState: adapter.setAll(adapter.getInitialState(), PEOPLE),
  reducers: {
    renamed: (state, { payload }: PayloadAction<{ id: string; name: string }>) => {
      adapter.updateOne(state, { id: payload.id, changes: { name: payload.name } })
    },
    removed: adapter.removeMany,
  },
})
const selectAdults = createSelector(
  adapter.getSelectors().selectAll,
  (people) => people.filter(({ age }) => age >= 18).map(({ name }) => name),
)

export async function POST(ctx: Context) {
  const { rename, remove = [] } = await ctx.get.json<
    { rename?: { id: string; name: string }; remove?: string[] }
  >()
  const store = configureStore({ reducer: slice.reducer })
  if (rename !== undefined) store.dispatch(slice.actions.renamed(rename))
  store.dispatch(slice.actions.removed(remove))
  const { ids } = store.getState()
  return ctx.send.json({ ids, adults: selectAdults(store.getState()) })
}
