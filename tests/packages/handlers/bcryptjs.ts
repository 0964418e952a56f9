import type { Context } from '@mayfly/mayfly'
import bcrypt from 'bcryptjs'

export const inputs = [
  { form: { password: 'correct horse', hash: '' } },
  {
    form: {
      password: 'pässwörd',
      hash: '$2b$04$abcdefghijklmnopqrstuuLo.cSmzbGK8sP0m3KXpOTb5zNU6fBJS',
    },
  },
]

export async function POST(ctx: Context) {
  const form = await ctx.get.formData()
  const password = String(form.get('password'))
  const hash = await bcrypt.hash(password, '$2b$04$abcdefghijklmnopqrstuu')
  return ctx.send.json({
    hash,
    rounds: bcrypt.getRounds(hash),
    same: await bcrypt.compare(password, String(form.get('hash')) || hash),
  })
}
