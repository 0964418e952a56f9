import type { Handler } from '@mayfly/mayfly'

export const GET: Handler = (ctx) => ctx.fail(418, 'This pot makes tea and nothing else')
