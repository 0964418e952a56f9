import type { Context } from '@mayfly/mayfly'

export const isolated = true

let turns = 0
while (turns >= 0) {
  turns = (turns + 1) % 1000
}

export const GET = (ctx: Context) => ctx.send.text(String(turns))
