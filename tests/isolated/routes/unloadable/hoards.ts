import type { Context } from '@mayfly/mayfly'

export const isolated = { memoryMb: 32 }

const kept: number[][] = []
for (let i = 0; i < 1e9; i++) {
  kept.push(new Array(1000).fill(i))
}

export const GET = (ctx: Context) => ctx.send.text(String(kept.length))
