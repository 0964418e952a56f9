import type { Context } from '@mayfly/mayfly'
import { assign, createActor, setup } from 'xstate'

export const inputs = [
  { json: ['PAY', 'SHIP', 'DELIVER'] },
  { json: ['PAY', 'FAIL', 'PAY', 'FAIL', 'PAY', 'FAIL', 'PAY', 'größe'] },
]

const machine = setup({
  types: { context: {} as { tries: number }, events: {} as { type: string } },
  guards: { tooOften: ({ context }) => context.tries > 2 },
  actions: { count: assign({ tries: ({ context }) => context.tries + 1 }) },
}).createMachine({
  id: 'order',
  initial: 'open',
  context: { tries: 0 },
  states: {
    open: {
      on: { PAY: { target: 'paid', actions: 'count' } },
      always: { guard: 'tooOften', target: 'refused' },
    },
    paid: {
      initial: 'waiting',
      states: { waiting: { on: { SHIP: 'shipped' } }, shipped: {} },
      on: { FAIL: 'open', DELIVER: 'done' },
    },
    done: { type: 'final' },
    refused: { type: 'final' },
  },
})

export async function POST(ctx: Context) {
  const actor = createActor(machine).start()
  const seen: unknown[] = []
  actor.subscribe(({ value, context }) => void seen.push([value, context.tries]))
  for (const type of await ctx.get.json<string[]>()) actor.send({ type })
  return ctx.send.json({ seen, status: actor.getSnapshot().status })
}
