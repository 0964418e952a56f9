import { type Cases, caught } from './case.ts'

export const HEADERS: Cases = {
  'Headers: names are lower-cased, values trimmed': ({ Headers }) => [
    ...new Headers({ 'X-B': ' 2\t', 'x-a': '1', Accept: '\r\n a b \n' }),
  ],
  'Headers: iteration is sorted and combined, cookies stay apart': ({ Headers }) => {
    const headers = new Headers([['b', '1'], ['Set-Cookie', 'x=1'], ['a', '2'], ['B', '3'], [
      'set-cookie',
      'y=2',
    ]])
    return [[...headers], [...headers.keys()], [...headers.values()], headers.get('set-cookie')]
  },
  'Headers: getSetCookie': ({ Headers }) => {
    const headers = new Headers()
    headers.append('set-cookie', 'a=1; Path=/')
    headers.append('set-cookie', 'b=2')
    return [headers.getSetCookie(), new Headers({ a: 'b' }).getSetCookie()]
  },
  'Headers: append, set, delete, has, get': ({ Headers }) => {
    const headers = new Headers({ a: '1', b: '2' })
    headers.append('A', '3')
    const before = headers.get('a')
    headers.set('a', '4')
    headers.delete('B')
    return [
      before,
      headers.get('A'),
      headers.get('b'),
      headers.has('a'),
      headers.has('b'),
      headers.set('z', ''),
    ]
  },
  'Headers: invalid names': (web) =>
    ['', 'a b', 'é', 'a:', 'a\n', '(x)'].map((name) => caught(web, () => new web.Headers([[name, 'v']]))),
  'Headers: invalid values': (web) =>
    ['a\nb', 'a\0', 'a\rb', '\u0100'].map((value) => caught(web, () => new web.Headers([['n', value]]))),
  'Headers: latin-1 values pass': ({ Headers }) => new Headers({ a: 'é\u00ff\u0001' }).get('a'),
  'Headers: of a record': ({ Headers }) => [
    ...new Headers({ 1: 'a', b: 2 as unknown as string, c: null as unknown as string, [Symbol('s')]: 'x' }),
  ],
  'Headers: of pairs with wrong lengths': (web) => [
    caught(web, () => new web.Headers([['a']] as unknown as HeadersInit)),
    caught(web, () => new web.Headers([['a', 'b', 'c']] as unknown as HeadersInit)),
    caught(web, () => new web.Headers(['ab'] as unknown as HeadersInit)),
  ],
  'Headers: of what is no object': (web) =>
    [null, 1, 'a', true].map((init) =>
      caught(web, () => [...new web.Headers(init as unknown as HeadersInit)])
    ),
  'Headers: of any iterable': ({ Headers }) => [
    ...new Headers(new Map([['a', '1'], ['B', '2']])),
    ...new Headers((function* () {
      yield ['c', 'd'] as [string, string]
    })()),
  ],
  'Headers: a copy is its own': ({ Headers }) => {
    const first = new Headers([['a', '1'], ['set-cookie', 'x'], ['set-cookie', 'y']])
    const second = new Headers(first)
    second.set('a', '2')
    return [[...first], [...second]]
  },
  'Headers: missing arguments': (web) => {
    const headers = new web.Headers() as unknown as Record<string, (...args: unknown[]) => unknown>
    return ['get', 'has', 'delete', 'append', 'set', 'forEach'].map((name) =>
      caught(web, () => headers[name]())
    )
  },
  'Headers: forEach': ({ Headers }) => {
    const seen: unknown[] = []
    const self = {}
    const headers = new Headers({ b: '1', a: '2' })
    headers.forEach(function (this: unknown, value, name, owner) {
      seen.push([name, value, this === self, owner === headers])
    }, self)
    return seen
  },
  'Headers: iteration sees changes': ({ Headers }) => {
    const headers = new Headers({ a: '1', b: '2', c: '3' })
    const seen: string[] = []
    for (const [name] of headers) {
      seen.push(name)
      if (name === 'a') headers.delete('b')
    }
    return seen
  },
  'Headers: the look of the interface': ({ Headers }) => {
    const headers = new Headers()
    return [
      Object.prototype.toString.call(headers),
      Object.prototype.toString.call(headers.entries()),
      Headers.name,
      Object.keys(headers),
      Headers.prototype[Symbol.iterator] === Headers.prototype.entries,
      Object.getOwnPropertyDescriptor(Headers.prototype, 'get')!.enumerable,
    ]
  },
  'Headers: methods of another object': (web) => [
    caught(web, () => web.Headers.prototype.get.call({} as Headers, 'a')),
    caught(web, () => web.Headers.prototype.entries.call({} as Headers)),
    caught(web, () => (web.Headers as unknown as () => void)()),
  ],
  'Headers: values are converted': ({ Headers }) => {
    const headers = new Headers()
    headers.set('a', 1 as unknown as string)
    headers.set('b', undefined as unknown as string)
    headers.set('c', { toString: () => 'made' } as unknown as string)
    return [...headers]
  },
  'Headers: a symbol is no text': (web) =>
    caught(web, () => new web.Headers().set('a', Symbol('x') as unknown as string)),
}
