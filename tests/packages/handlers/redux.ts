import type { Context } from '@mayfly/mayfly'
import { combineReducers, createStore } from 'redux'
import type { Action } from 'redux'

export const inputs = [
  { json: [{ type: 'add', title: 'Käse' }, { type: 'add', title: 'Brot' }, { type: 'toggle', id: 1 }] },
  {
    json: Array.from(
      { length: 100 },
      (_, id) => ({ type: id % 3 ? 'add' : 'toggle', title: `t${id}`, id: id / 3 }),
    ),
  },
]

interface Todo {
  readonly id: number
  readonly title: string
  readonly done: boolean
}
interface Change extends Action<string> {
  readonly title?: string
  readonly id?: number
}

const todos = (state: readonly Todo[] = [], action: Change): readonly Todo[] => {
  if (action.type === 'add') return [...state, { id: state.length, title: action.title!, done: false }]
  if (action.type === 'toggle') {
    return state.map((todo) => todo.id === action.id ? { ...todo, done: !todo.done } : todo)
  }
  return state
}
const changes = (count = 0, { type }: Change) => type.startsWith('@@') ? count : count + 1

export async function POST(ctx: Context) {
  const store = createStore(combineReducers({ todos, changes }))
  let calls = 0
  store.subscribe(() => void calls++)
  for (const action of await ctx.get.json<Change[]>()) store.dispatch(action)
  return ctx.send.json({ ...store.getState(), calls })
}
