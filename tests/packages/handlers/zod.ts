import type { Context } from '@mayfly/mayfly'
import { z } from 'zod'

export const inputs = [
  {
    json: {
      name: 'Ann',
      email: 'ann@example.com',
      tags: ['a', 'b'],
      address: { city: 'Köln', zip: '50667' },
    },
  },
  {
    json: { name: '', email: 'no', tags: 'a', address: { zip: '1' }, extra: 1 },
  },
  {
    json: {
      name: 'Bob',
      email: 'bob@example.com',
      birth: '2001-02-03',
      role: 'admin',
    },
  },
]

const User = z.object({
  name: z.string().min(1).max(50),
  email: z.email(),
  tags: z.array(z.string()).default([]),
  birth: z.iso.date().transform((text) => new Date(text).getUTCFullYear())
    .optional(),
  role: z.enum(['user', 'admin']).default('user'),
  address: z.object({ city: z.string(), zip: z.string().regex(/^\d{5}$/) })
    .optional(),
}).strict()

export async function POST(ctx: Context) {
  const result = User.safeParse(await ctx.get.json())
  if (result.success) return ctx.send.json(result.data)
  return ctx.send.json(z.treeifyError(result.error), { status: 422 })
}
