/** The clients that a program meets before its snapshot. */
import type { HeaderPairs, RequestHead } from './message.ts'

/** A client, as its requests look. */
export interface Client {
  readonly origin: string
  readonly headers: HeaderPairs
  /** It comes through a socket; what comes through `router.fetch` has no address. */
  readonly remote: boolean
  /** What a parameter of its queries holds, where the user chose no path: a handler that met none takes 0.2 ms more for one, each time. */
  readonly value?: string
  /** It sends forms to who takes them, where the user chose no body. */
  readonly form?: true
  /** What middleware before the handler left. */
  readonly left?: Pick<RequestHead, 'state' | 'pending'>
}

/** As `securityHeaders` and `requestId` leave them. */
const LEFT_HEADERS: RequestHead['pending'] = {
  single: [['x-content-type-options', 'nosniff'], ['x-request-id', '01J8Z0000000000000000000']],
  appended: [],
}

/**
 * Headers of the clients that there are. Code that was optimised for one of them alone meets the others with a
 * deoptimisation, and as the reset undoes that, in every request (seen with Hono: 340 us instead of 55).
 */
export const CLIENTS: readonly Client[] = [
  {
    origin: 'http://localhost:8000',
    headers: [['host', 'localhost:8000'], ['connection', 'keep-alive']],
    remote: true,
  },
  {
    origin: 'http://localhost',
    headers: [['host', 'localhost'], ['user-agent', 'curl/8.5.0'], ['accept', '*/*']],
    remote: false,
    value: '1',
  },
  {
    origin: 'https://example.com',
    headers: [
      ['host', 'example.com'],
      [
        'user-agent',
        'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0',
      ],
      ['accept', 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'],
      ['accept-encoding', 'gzip, deflate, br, zstd'],
      ['accept-language', 'en-US,en;q=0.9'],
      ['cache-control', 'max-age=0'],
      ['cookie', 'theme=dark; visited=1'],
      ['sec-fetch-dest', 'document'],
      ['sec-fetch-mode', 'navigate'],
      ['upgrade-insecure-requests', '1'],
    ],
    remote: true,
    form: true,
    left: { pending: LEFT_HEADERS },
  },
  {
    origin: 'http://10.0.0.7:8080',
    headers: [
      ['host', '10.0.0.7:8080'],
      ['accept', 'application/json'],
      ['x-forwarded-for', '192.0.2.1'],
      ['x-forwarded-proto', 'https'],
      ['connection', 'close'],
    ],
    remote: true,
    value: 'a b',
    left: { state: {}, pending: LEFT_HEADERS },
  },
]
