import { type Cases, caught, type Web } from './case.ts'

const PARTS = [
  ...['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search'],
  'hash',
] as const

function partsOf(url: URL): string[] {
  return PARTS.map((part) => url[part])
}

function parse({ URL }: Web, ...texts: (string | [string, string])[]): unknown[] {
  return texts.map((text) => {
    const [url, base] = typeof text === 'string' ? [text, undefined] : text
    return URL.canParse(url, base) ? partsOf(new URL(url, base)) : 'none'
  })
}

export const URLS: Cases = {
  'URL: parts of a full one': (web) => parse(web, 'https://user:pass@example.com:8080/a/b?c=d#e'),
  'URL: empty parts': (web) =>
    parse(
      web,
      'http://a?',
      'http://a#',
      'http://a/?#',
      'http://a:80/',
      'http://@a/',
      'http://u@a',
      'http://:p@a',
    ),
  'URL: normalization': (web) =>
    parse(web, 'HTTP://EXAMPLE.com:0080/a/./b/../c', ' http://a\t/b\n', 'http://a\\b', 'http:a'),
  'URL: hosts': (web) =>
    parse(
      web,
      'http://127.1/',
      'http://0x7f.1',
      'http://[::1]:3000/',
      'http://ex%41mple.com',
      'http://münchen.de/ä?ö#ü',
      'http://a b/',
      'http://[:1/',
      'http://1.2.3.4.5/',
    ),
  'URL: other schemes': (web) =>
    parse(
      web,
      'mailto:a@b.c',
      'data:text/plain,hi?x#y',
      'file:///a/b',
      'file:c:/x',
      'javascript:1',
      'blob:https://a.b:1/x',
      'blob:x',
      'about:blank',
      'foo://u:p@h:9/p',
    ),
  'URL: relative to a base': (web) =>
    parse(
      web,
      ['x', 'http://a/b/c?d#e'],
      ['../x', 'http://a/b/c/d'],
      ['?q', 'http://a/b?c'],
      ['#f', 'http://a/b?c'],
      ['//h/p', 'https://a'],
      ['', 'http://a/b?c#d'],
      ['/', 'http://a/b'],
      ['x', 'mailto:a'],
      ['http:x', 'http://a/b/'],
    ),
  'URL: what is none': (web) =>
    ['', 'a', '//a', 'http://', 'http://a:99999', 'http://a:b', '::', 'http://%'].map((text) =>
      caught(web, () => new web.URL(text).href)
    ),
  'URL: a bad base': (
    web,
  ) => [
    caught(web, () => new web.URL('http://a', 'b').href),
    caught(web, () => new web.URL('/x', undefined).href),
  ],
  'URL: parse and canParse': ({ URL }) => [
    URL.parse('http://a/b')?.pathname,
    URL.parse('x'),
    URL.parse('x', 'http://a')?.href,
    URL.canParse('x'),
    URL.canParse('x', 'http://a'),
  ],
  'URL: setters': ({ URL }) => {
    const results: string[] = []
    const set = (part: keyof URL, value: string) => {
      const url = new URL('https://u:p@example.com:8080/path?q=1#h') as unknown as Record<string, string>
      url[part] = value
      results.push(url.href)
    }
    set('protocol', 'http')
    set('protocol', 'ftp:')
    set('protocol', 'foo')
    set('host', 'h:1')
    set('host', 'h')
    set('host', '')
    set('hostname', 'x:9')
    set('hostname', 'y')
    set('port', '443')
    set('port', '')
    set('port', '12x')
    set('port', 'x')
    set('pathname', 'a b/../c?d#e')
    set('search', 'x=y z')
    set('search', '?')
    set('search', '')
    set('hash', '#a b')
    set('hash', '')
    set('username', 'ü@')
    set('username', '')
    set('password', ':')
    set('password', '')
    set('href', 'http://other/')
    return results
  },
  'URL: setters on an opaque path': ({ URL }) => {
    const url = new URL('mailto:x?y#z')
    url.host = 'h'
    url.pathname = 'p'
    url.port = '1'
    url.username = 'u'
    url.search = 's'
    url.hash = 'h'
    return partsOf(url)
  },
  'URL: a bad href leaves it as it is': (web) => {
    const url = new web.URL('http://a/b?c')
    const error = caught(web, () => {
      url.href = 'x'
    })
    return [error, ...partsOf(url)]
  },
  'URL: searchParams is live': ({ URL }) => {
    const url = new URL('http://a/?x=1&y=2#h')
    const { searchParams } = url
    searchParams.append('z', 'a b&c')
    const one = url.href
    url.search = '?n=1'
    const two = [...searchParams]
    searchParams.delete('n')
    const three = url.href
    url.href = 'http://b/?k'
    return [one, two, three, [...searchParams], searchParams === url.searchParams]
  },
  'URL: text forms': ({ URL }) => {
    const url = new URL('http://a/é')
    return [
      String(url),
      JSON.stringify({ url }),
      url.toJSON(),
      Object.prototype.toString.call(url),
      Object.keys(url),
    ]
  },
  'URL: takes a URL and other objects': (
    { URL },
  ) => [new URL(new URL('http://a/b')).href, new URL({ toString: () => 'http://c' } as URL).href],
  'URL: lone surrogates and control characters': (web) =>
    parse(web, 'http://a/\ud800?\udfff#\0', 'http://a/\u0001\u007f', 'http://a/%zz%41'),
  'URLSearchParams: of texts': ({ URLSearchParams }) =>
    ['a=1&b=2', '?a', 'a=b=c', '&&a&', 'a+b=c%20d', '%', '%e9=%C3%A9', 'a=%zz', '+', '=', '??x', 'ä=ö'].map((
      text,
    ) => [...new URLSearchParams(text)]),
  'URLSearchParams: of records and pairs': ({ URLSearchParams }) => [
    [...new URLSearchParams({ a: '1', b: 2 as unknown as string })],
    [...new URLSearchParams([['a', '1'], ['a', '2']])],
    [...new URLSearchParams(new URLSearchParams('x=1&x=2'))],
    [...new URLSearchParams(new Map([['m', 'n']]) as unknown as string[][])],
  ],
  'URLSearchParams: of odd values': (web) => [
    [...new web.URLSearchParams(undefined)],
    [...new web.URLSearchParams(null as unknown as string)],
    [...new web.URLSearchParams(1 as unknown as string)],
    caught(web, () => new web.URLSearchParams([['a']])),
    caught(web, () => new web.URLSearchParams([1] as unknown as string[][])),
  ],
  'URLSearchParams: text form': ({ URLSearchParams }) =>
    new URLSearchParams([['a b', 'c&d=e'], ['é', '~*-._'], ['', ''], ["'()!", '\ud800'], ['x', '\r\n']])
      .toString(),
  'URLSearchParams: methods': ({ URLSearchParams }) => {
    const params = new URLSearchParams('a=1&b=2&a=3&c=4')
    const first = [
      params.get('a'),
      params.getAll('a'),
      params.get('z'),
      params.has('b'),
      params.has('b', '3'),
      params.size,
    ]
    params.set('a', '9')
    params.delete('c', '5')
    params.append('d', '')
    params.delete('b')
    return [first, params.toString(), params.size]
  },
  'URLSearchParams: sort is stable, by code units': ({ URLSearchParams }) => {
    const params = new URLSearchParams('z=1&ﬃ=1&🌈=1&a=2&z=0&a=1')
    params.sort()
    return [...params]
  },
  'URLSearchParams: iteration sees changes': ({ URLSearchParams }) => {
    const params = new URLSearchParams('a=1&b=2&c=3')
    const seen: string[] = []
    for (const [name] of params) {
      seen.push(name)
      params.delete('b')
    }
    return seen
  },
  'URLSearchParams: the look of the interface': ({ URLSearchParams }) => {
    const params = new URLSearchParams('a=1')
    const seen: unknown[] = []
    params.forEach((value, name, owner) => seen.push([value, name, owner === params]))
    return [
      seen,
      Object.prototype.toString.call(params),
      Object.prototype.toString.call(params.keys()),
      [...params.keys(), ...params.values()],
      Object.entries(Object.fromEntries(params)),
    ]
  },
}
