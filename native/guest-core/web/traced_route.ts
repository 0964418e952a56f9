/** The route whose requests tell which blocks of the heap requests write to. */

/** What it uses of its context, which is the framework's. */
interface Context {
  readonly get: { param(name: string): string | undefined }
  readonly send: { json(data: unknown): Response }
}

export const isolated = true

/** A small answer, as most are. */
export function GET(ctx: Context): Response {
  return ctx.send.json({
    name: ctx.get.param('name'),
    items: [1, 2, 3],
    text: `hello ${ctx.get.param('name')}`,
  })
}
