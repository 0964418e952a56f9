import type { Handler } from '@mayfly/mayfly'
import { renderPage } from '../_lib/page.ts'

export const GET: Handler = (ctx) =>
  renderPage(ctx, 'context', {
    href: '/context',
    description:
      'A handler gets one object: get reads, set writes, send answers. What you do not ask for is not computed.',
    sources: ['routes/context/echo.ts', 'routes/context/index.ts', 'views/context.dve'],
    data: {
      facts: [
        { call: 'method()', value: ctx.get.method() },
        { call: 'pathname()', value: ctx.get.pathname() },
        { call: 'query()', value: JSON.stringify(ctx.get.query()) },
        { call: "header('accept-language')", value: ctx.get.header('accept-language') ?? 'not sent' },
        { call: "header('sec-fetch-mode')", value: ctx.get.header('sec-fetch-mode') ?? 'not sent' },
        { call: "cookie('theme')", value: ctx.get.cookie('theme') ?? 'not sent' },
        { call: 'ip()', value: ctx.get.ip() ?? 'no socket' },
        { call: 'state.requestId', value: ctx.state.requestId },
      ],
      tries: [
        { href: '/context/echo?tag=may&tag=fly&page=2', why: 'queries' },
        {
          href: '/context/echo',
          method: 'POST',
          headers: '{"content-type":"application/json"}',
          body: '{"wings":4,"days":1}',
          why: 'JSON',
        },
        {
          href: '/context/echo',
          method: 'POST',
          headers: '{"content-type":"application/x-www-form-urlencoded"}',
          body: 'wings=4&days=1',
          why: 'a form',
        },
        {
          href: '/context/echo',
          method: 'POST',
          headers: '{"content-type":"application/json"}',
          body: '{"wings":',
          why: 'broken JSON',
        },
      ],
    },
  })
