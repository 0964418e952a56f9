/** The plates of the tour, in order. */

/** One page of the tour. */
export interface Plate {
  readonly href: string
  readonly numeral: string
  readonly name: string
  /** One sentence, for the home page. */
  readonly summary: string
}

/** Every plate of the tour. */
export const PLATES: readonly Plate[] = [
  plate(
    'I',
    '/routing',
    'File routing',
    'A file is a route. Parameters, catch-alls, groups, 405 with a sorted Allow.',
  ),
  plate(
    'II',
    '/context',
    'Context',
    'One object reads the request and makes the response, and computes nothing early.',
  ),
  plate(
    'III',
    '/templates',
    'DVE templates',
    'Write a template here and see it render, or fail with a caret.',
  ),
  plate(
    'IV',
    '/layouts',
    'Layouts and includes',
    'Slots, blocks and partials, resolved when the template is compiled.',
  ),
  plate('V', '/streaming', 'Streaming', 'A page whose rows reach you while the rest is still to come.'),
  plate(
    'VI',
    '/events',
    'Lifecycle events',
    'Everything the server does, as events that cost nothing when nobody listens.',
  ),
  plate(
    'VII',
    '/workers',
    'Worker pool',
    'Heavy sums leave the main thread. A full queue says 503, and when to try again.',
  ),
  plate('VIII', '/files', 'Static files', 'ETags, 304 answers, one range or several.'),
  plate('IX', '/middleware', 'Middleware', 'The onion around every handler: limits, tokens, validation.'),
  plate(
    'X',
    '/guestbook',
    'Forms and sessions',
    'A guestbook with a CSRF token, a signed session and a flash message.',
  ),
  plate('XI', '/sse', 'Server-sent events', 'A clock that the server ticks.'),
  plate('XII', '/websocket', 'WebSocket', 'An echo on a socket, with its round-trip time.'),
  plate(
    'XIII',
    '/errors',
    'Errors',
    'A page for people, problem+json for programs, the stack for you while you develop.',
  ),
  plate(
    'XIV',
    '/isolated',
    'Isolation',
    'Handlers in a virtual machine that is reset after every request. A counter that always says 1.',
  ),
  plate(
    'XV',
    '/reach',
    'Reach',
    'A machine asks a server on the list and is refused all others. A kept program counts on.',
  ),
  plate(
    'XVI',
    '/tenants',
    'Tenants',
    'Three sites in one server, each by its host and in machines of its own. Edit one.',
  ),
]

/** The plate at `href`, with its neighbours. */
export function findPlate(href: string): { plate?: Plate; previous?: Plate; next?: Plate } {
  const at = PLATES.findIndex((item) => item.href === href)
  return at < 0 ? {} : { plate: PLATES[at], previous: PLATES[at - 1], next: PLATES[at + 1] }
}

function plate(numeral: string, href: string, name: string, summary: string): Plate {
  return { href, numeral, name, summary }
}
