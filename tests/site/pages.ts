/** The pages of the example site and what each must say; the in-process and the browser tests share it. */

/** A page with the start of its title. */
export interface SitePage {
  readonly path: string
  readonly title: string
  readonly status?: number
}

/** Every page that a visitor can open from the menus. */
export const PAGES: readonly SitePage[] = [
  { path: '/', title: 'A virtual machine for every request' },
  { path: '/routing', title: 'File routing' },
  { path: '/context', title: 'Context' },
  { path: '/templates', title: 'DVE templates' },
  { path: '/layouts', title: 'Layouts and includes' },
  { path: '/streaming', title: 'Streaming' },
  { path: '/events', title: 'Lifecycle events' },
  { path: '/workers', title: 'Worker pool' },
  { path: '/files', title: 'Static files' },
  { path: '/middleware', title: 'Middleware' },
  { path: '/guestbook', title: 'Forms and sessions' },
  { path: '/sse', title: 'Server-sent events' },
  { path: '/websocket', title: 'WebSocket' },
  { path: '/errors', title: 'Errors' },
  { path: '/isolated', title: 'Isolation' },
  { path: '/reach', title: 'Reach' },
  { path: '/tenants', title: 'Tenants' },
  { path: '/playground', title: 'Playground' },
  { path: '/benchmark', title: 'Benchmark' },
  { path: '/docs', title: 'Docs' },
  { path: '/docs/readme', title: 'Mayfly' },
  { path: '/docs/search?q=reset', title: 'Search the docs' },
]
