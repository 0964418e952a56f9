/** One thing of the context at a time, by `?what=`. */
import type { Context } from '@mayfly/mayfly'

export const isolated = {
  warmup: [{ path: '/show?what=text' }],
  env: ['MAYFLY_SEEN'],
  may: ['session', 'cookies', 'state'],
}

const THINGS: Readonly<Record<string, (ctx: Context) => Response | Promise<Response>>> = {
  text: (ctx) => ctx.send.text('text'),
  html: (ctx) => ctx.send.html('<p>html</p>'),
  view: async (ctx) => await ctx.render('greeting', { name: '<Ann>', count: 2 }),
  view_status: async (ctx) => await ctx.render('greeting', { name: 'Bob', count: 1 }, { status: 202 }),
  no_view: async (ctx) => await ctx.render('nowhere', {}),
  headers: (ctx) => {
    ctx.set.header('x-one', '1').header('x-many', 'a', { append: true }).header('x-many', 'b', {
      append: true,
    })
    return ctx.send.json(ctx.get.header('x-asked') ?? null)
  },
  cookies: (ctx) => {
    ctx.set.cookie('fresh', ctx.get.cookie('old') ?? 'none', { httpOnly: true }).cookie('old', null)
    return ctx.send.text('cookies')
  },
  session: (ctx) => {
    const { visits = 0 } = ctx.get.session<{ visits: number }>() ?? {}
    ctx.set.session({ visits: visits + 1 })
    return ctx.send.json({ visits })
  },
  end_session: (ctx) => {
    ctx.set.session(null)
    return ctx.send.empty()
  },
  state: (ctx) => {
    ctx.state.back = { seen: ctx.state.from }
    return ctx.send.text('state')
  },
  redirect: (ctx) => ctx.send.redirect('/users/ann', 303),
  redirect_away: (ctx) => ctx.send.redirect('javascript:alert(1)'),
  status: (ctx) => {
    ctx.set.status(418)
    return ctx.send.text('teapot')
  },
  stream: (ctx) => ctx.send.stream(['one ', 'two ', 'three']),
  download: (ctx) => ctx.send.download('a,b\n', 'table.csv'),
  response: () => new Response('plain', { status: 203, statusText: 'Odd', headers: { 'x-own': 'yes' } }),
  env: (ctx) => ctx.send.json(Deno.env.get('MAYFLY_SEEN') ?? null),
  file: (ctx) => ctx.send.file('/etc/passwd'),
  unicode: (ctx) => ctx.send.json({ text: 'grüße 🐝 \u0000 \u2028' }),
  bytes: () => new Response(Uint8Array.from({ length: 256 }, (_, index) => index)),
  large: (ctx) => ctx.send.text('x'.repeat(1_000_000)),
  ip: (ctx) => ctx.send.json({ ip: ctx.get.ip() ?? null, method: ctx.get.method(), url: ctx.get.url() }),
}

export function GET(ctx: Context): Response | Promise<Response> {
  return THINGS[ctx.get.query('what')!](ctx)
}
