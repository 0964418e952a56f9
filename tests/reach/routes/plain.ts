import type { Context } from '@mayfly/mayfly'

export async function GET(ctx: Context): Promise<Response> {
  const { MAIL } = ctx.env as unknown as { MAIL: { send(to: string): Promise<string> } }
  return ctx.send.text(await MAIL.send('plain'))
}
