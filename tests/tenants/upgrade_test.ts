import { assertEquals } from '@std/assert'
import { testIsolated } from '../isolated/fixture.ts'
import { openTenants } from './fixture.ts'

testIsolated('a tenant gets no request that asks for an upgrade, and makes no WebSocket of one', async () => {
  await using site = await openTenants({
    files: {
      'acme/main.js': `export default {
        fetch(request) {
          if (request.url.endsWith('/pair')) {
            return new Response(null, { status: 101, webSocket: new WebSocketPair()[0] })
          }
          return new Response(String(request.headers.get('upgrade')))
        },
      }`,
    },
  })
  const headers = {
    upgrade: 'websocket',
    connection: 'Upgrade',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  }
  const { status, text } = await site.ask('acme.localhost', '/', { headers })
  assertEquals([status, text], [200, 'null'])
  assertEquals((await site.ask('acme.localhost', '/pair', { headers })).status, 502)
  assertEquals((await site.ask('acme.localhost')).text, 'null')
})
