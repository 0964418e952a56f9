import type { Context } from '@mayfly/mayfly'
import nodemailer from 'nodemailer'

export const inputs = [
  { json: { to: 'Jörg <joerg@example.com>', subject: 'Größe & mehr', html: '<p>Grüße</p>' } },
  { json: { to: 'ann@example.com', subject: 'plain', text: 'x'.repeat(300) } },
]

const transport = nodemailer.createTransport({ streamTransport: true, buffer: true, newline: 'unix' })

/** Composes a message without sending it. */
export async function POST(ctx: Context) {
  const mail = await ctx.get.json<object>()
  const { message, envelope } = await transport.sendMail({
    ...mail,
    from: 'Mayfly <mayfly@example.com>',
    date: new Date('2026-01-02T03:04:05Z'),
    messageId: '<one@example.com>',
    attachments: [{ filename: 'größe.txt', content: 'ein Anhang' }],
    boundaryPrefix: 'part',
  } as never)
  const text = String(message).replace(/part-[\w-]+/g, 'part')
  return ctx.send.json({ envelope, text: text.replace(/boundary="[^"]+"|^--\S+$/gm, '--boundary') })
}
