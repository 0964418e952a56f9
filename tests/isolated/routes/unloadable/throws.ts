import type { Context } from '@mayfly/mayfly'

export const isolated = true

const settings: { name: string } | undefined = undefined as never
const { name } = settings!

export const GET = (ctx: Context) => ctx.send.text(name)
