import type { Context } from '@mayfly/mayfly'
import { UAParser } from 'ua-parser-js'

export const inputs = [
  {
    headers: {
      'user-agent':
        'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36',
    },
  },
  {
    headers: {
      'user-agent':
        'Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) AppleWebKit/605.1.15 Version/17.2 Mobile/15E148 Safari/604.1',
    },
  },
  { path: '?agent=curl/8.5.0' },
]

export function GET(ctx: Context) {
  const agent = ctx.get.query('agent') ?? ctx.get.header('user-agent') ?? ''
  const { browser, os, device, engine, cpu } = UAParser(agent)
  return ctx.send.json({ browser, os, device, engine, cpu })
}
