/** A server that tells what it was sent, in many ways, and a list by which the host adds a secret for it. */

export const TOKEN = 'tok-7f3a9c51-never-seen-by-guests'
export const SECRET = `Bearer ${TOKEN}`
/** Ways in which a server tells what it was sent. */
export const ECHOES: Readonly<Record<string, (value: string) => Response>> = {
  '/plain': () => new Response('fine'),
  '/body': (value) => new Response(`you sent ${value}`),
  '/header': (value) => new Response('fine', { headers: { 'x-echo': value, 'x-own': 'y' } }),
  '/cookie': (value) => new Response('fine', { headers: { 'set-cookie': `a=${value}` } }),
  '/location': (value) => new Response(null, { status: 302, headers: { location: `/?${value}` } }),
  '/escaped': (value) =>
    new Response(null, {
      status: 302,
      headers: { location: `/?${value.replace(/./g, (c) => `%${c.charCodeAt(0).toString(16)}`)}` },
    }),
  '/status': (value) => new Response(value, { status: 500 }),
  '/split': (value) =>
    new Response(ReadableStream.from([...value].map((letter) => new TextEncoder().encode(letter)))),
}

/** Answers as the path says, and counts those who had the secret. */
export function serveEchoes() {
  const heard = { withSecret: 0 }
  const server = Deno.serve({ port: 0, hostname: '127.0.0.1', onListen() {} }, (request) => {
    const value = request.headers.get('authorization') ?? ''
    if (value === SECRET) heard.withSecret++
    return (ECHOES[new URL(request.url).pathname] ?? ECHOES['/plain']!)(value)
  })
  const origin = `http://127.0.0.1:${server.addr.port}`
  const list = { allow: [origin], headers: { [origin]: { authorization: () => SECRET } } }
  return { heard, origin, list, [Symbol.asyncDispose]: () => server.shutdown() }
}
