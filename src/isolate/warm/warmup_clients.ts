/**
 * The clients that a program meets before its snapshot. What they send says `warmup`, or 927687, which are its keys on a telephone:
 * who meets that in an answer looks at what a warm-up request left behind.
 */
import type { HeaderPairs, RequestHead } from '../wire/message.ts'

/** A client, as its requests look. */
export interface Client {
  readonly origin: string
  readonly headers: HeaderPairs
  /** It comes through a socket; what comes through `router.fetch` has no address. */
  readonly remote: boolean
  /** What a parameter of its paths holds, and a member of its bodies, where the user chose none; each client's is another. */
  readonly id: string
  /**
   * What a parameter of its queries holds, where the user chose no path: a handler that met none takes 0.2 ms more for
   * one, each time. Two of three have text of other scripts: met by fewer, V8 takes text for ASCII, and gives up what it optimised in every
   * request with other text, for three exits and three times the reset.
   */
  readonly value?: string
  /** What middleware before the handler left. */
  readonly left?: Pick<RequestHead, 'state' | 'pending'>
}

/** As middleware that forbids caches leaves them: of what it sets a guest sees what gives way to `ctx.send`. */
const LEFT_HEADERS: RequestHead['pending'] = { single: [['cache-control', 'no-store']], appended: [] }

/**
 * Headers of the clients that there are. Code that was optimised for one of them alone meets the others with a
 * deoptimisation, and as the reset undoes that, in every request (seen with Hono: 340 us instead of 55).
 */
export const CLIENTS: readonly Client[] = [
  {
    origin: 'http://warmup.localhost:8000',
    headers: [['host', 'warmup.localhost:8000'], ['connection', 'keep-alive']],
    remote: true,
    id: '927687',
  },
  {
    origin: 'http://localhost',
    headers: [['host', 'localhost'], ['user-agent', 'curl/8.5.0 (warmup)'], ['accept', '*/*']],
    remote: false,
    id: 'warmup',
    value: '927687',
  },
  {
    origin: 'https://warmup.example',
    headers: [
      ['host', 'warmup.example'],
      [
        'user-agent',
        'Mozilla/5.0 (X11; Linux x86_64; warmup) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0',
      ],
      ['accept', 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'],
      ['accept-encoding', 'gzip, deflate, br, zstd'],
      ['accept-language', 'en-US,en;q=0.9'],
      ['cache-control', 'max-age=0'],
      ['cookie', 'theme=warmup; visited=927687'],
      ['sec-fetch-dest', 'document'],
      ['sec-fetch-mode', 'navigate'],
      ['upgrade-insecure-requests', '1'],
    ],
    remote: true,
    id: '9276870',
    value: 'grüße warmup',
    left: { pending: LEFT_HEADERS },
  },
  {
    origin: 'http://192.0.2.7:8080',
    headers: [
      ['host', '192.0.2.7:8080'],
      ['accept', 'application/json'],
      ['x-forwarded-for', '192.0.2.1'],
      ['x-forwarded-proto', 'https'],
      ['connection', 'close'],
    ],
    remote: true,
    id: 'warmup-4',
    value: 'warm up, grüße, 漢字 🐝',
    left: { state: {}, pending: LEFT_HEADERS },
  },
  // As `router.fetch(new Request(url))` asks, without any header.
  { origin: 'http://localhost', headers: [], remote: false, id: 'warmup-5', value: 'warmup' },
]

/** A client of none of the warm-up's requests, who looks for what these left behind. */
export const PROBE_CLIENT: Client = {
  origin: 'https://probe.example',
  headers: [
    ['host', 'probe.example'],
    ['user-agent', 'mayfly-probe'],
    ['accept', '*/*'],
    ['accept-language', 'de'],
    ['cookie', 'theme=probe'],
  ],
  remote: true,
  id: '77623',
  value: 'probe',
}
