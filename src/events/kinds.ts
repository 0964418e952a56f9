/** Where a `process:error` came from. */
export type ProcessErrorOrigin = 'unhandledrejection' | 'uncaughterror' | 'signal'

/** What happened to a route file. `file` is relative to the working directory, `pattern` as `/users/[id]`. */
export interface RouteMetadata {
  readonly file: string
  readonly pattern: string | undefined
}

/** A view event. `name` is the template's name from the views root, `durationMs` the work in milliseconds. */
export interface ViewMetadata {
  readonly name: string
  readonly durationMs: number
}

/** An answered request. Every field is computed when it is read, so a listener pays for what it uses. */
export interface RequestMetadata {
  /** The id of the `requestId` middleware, else one made for this event. */
  readonly id: string
  readonly method: string
  readonly status: number
  /** Path without query string, unless the router was made with `eventQuery: true`. */
  readonly url: string
  /** The pattern that matched (`/users/[id]`), or undefined. */
  readonly route: string | undefined
  /** From the request's arrival to the hand-over of the response to the server; a stream goes on after it. */
  readonly durationMs: number
  readonly ip: string | undefined
  readonly userAgent: string | undefined
  /** Declared request body in bytes; 0 without a body, undefined when it is chunked. */
  readonly requestSize: number | undefined
  /** Response body in bytes by its Content-Length, or undefined for a stream. */
  readonly responseSize: number | undefined
  readonly isolated: boolean
  /** The tenant whose program answered. */
  readonly tenant?: string | undefined
  /** What the handler or a middleware threw. */
  readonly error: unknown
}

/** Something that happened to one worker of the pool. */
export interface WorkerMetadata {
  readonly index: number
  readonly timeoutMs?: number
  readonly reason?: string
  readonly queueDepth?: number
}

/** What kind of request one is, without any of its values. */
export interface IsolatedRequestShape {
  readonly method: string
  /** The route's pattern; an app's mount with `/*`. */
  readonly path: string
  /** Names of query parameters. */
  readonly query: readonly string[]
  /** Content type without parameters, '' without one. */
  readonly type: string
  /** Size of the body, rounded up: 0, 1 KiB, 16 KiB, 256 KiB, 4 MiB or Infinity, in bytes. */
  readonly bodyBytes: number
}

/** Something that happened to the virtual machines. Micros are microseconds. */
export interface IsolateMetadata {
  readonly program: string
  /** What runs it. */
  readonly runtime: 'deno' | 'core' | 'native'
  readonly vm?: number | undefined
  readonly queueMicros?: number | undefined
  readonly runMicros?: number | undefined
  readonly resetMicros?: number | undefined
  readonly exits?: number | undefined
  readonly dirtyPages?: number | undefined
  readonly bootMs?: number | undefined
  /** Of `isolate:ready`: false before the warm-up, which follows in the background and has an event of its own. */
  readonly warm?: boolean | undefined
  /** Of `isolate:ready`, where `cacheDir` is set: whether its snapshot came from there. */
  readonly cached?: boolean | undefined
  /** Milliseconds of them until its modules had run, from a started runtime on. */
  readonly loadMs?: number | undefined
  /** The warm-up was long enough: requests run as fast as at its end. */
  readonly settled?: boolean | undefined
  /** The limit that was met, in the unit of the option that `reason` names; of `isolate:rejected` the queue's where there is none. */
  readonly limit?: number | undefined
  /** The system call that was refused. */
  readonly call?: string | undefined
  /** How often it was, in the one request. */
  readonly times?: number | undefined
  /** The handler that `isolate:cold` and `isolate:unsettled` are about: `GET routes/users.ts`. */
  readonly handler?: string | undefined
  /** Its quickest run in the trial before it took requests, and at the end of its warm-up. */
  readonly trialMicros?: number | undefined
  readonly warmMicros?: number | undefined
  /** What kind of request it is about, without its values. */
  readonly shape?: IsolatedRequestShape | undefined
  /** The handlers whose answers show what the warm-up left, of `isolate:residue`. */
  readonly handlers?: readonly string[] | undefined
  /** Globals that the program uses and its runtime has not, of `isolate:missing`: which file does, and in which line first. */
  readonly missing?:
    | readonly { readonly global: string; readonly file: string; readonly line: number }[]
    | undefined
  /** The option whose limit was met (`timeoutMs`, `threads`), the grant that was wanted (`cookies`), or words. */
  readonly reason?: string | undefined
}

/** Something that happened to a program of a sandbox. Micros are microseconds. */
export interface SandboxMetadata {
  /** The program, by the name that it was given; absent for a run of code without one. */
  readonly name?: string | undefined
  readonly version?: string | undefined
  /** What runs it. */
  readonly runtime: 'deno' | 'core'
  /** It has a snapshot of its own. */
  readonly warm?: boolean | undefined
  readonly queueMicros?: number | undefined
  readonly runMicros?: number | undefined
  readonly resetMicros?: number | undefined
  readonly exits?: number | undefined
  readonly dirtyPages?: number | undefined
  /** Of `sandbox:ready`: milliseconds until its snapshot took calls. */
  readonly bootMs?: number | undefined
  /** The limit that was met, in the unit of the option that `reason` names; of `sandbox:rejected` the queue's where there is none. */
  readonly limit?: number | undefined
  /** The system call that was refused, and how often it was in the one run. */
  readonly call?: string | undefined
  readonly times?: number | undefined
  /** The option whose limit was met, or words. */
  readonly reason?: string | undefined
}

/** Something that happened to a tenant. */
export interface TenantMetadata {
  /** Absent where it is the folder or file of all tenants that cannot be read. */
  readonly tenant: string | undefined
  /** Of the program that serves: a digest of what was saved, or what the function of tenants said. */
  readonly version?: string | undefined
  /** Why its newest version is refused, or its request failed. */
  readonly error?: Error | undefined
  /** The request that failed. */
  readonly method?: string | undefined
  readonly path?: string | undefined
  /** The setting that limited a request, or the grant that a header lacked. */
  readonly reason?: string | undefined
  readonly limit?: number | undefined
  readonly times?: number | undefined
  /** What its program wrote to its console. */
  readonly text?: string | undefined
}

/** No virtual machine can run, and what isolated routes do instead. */
export interface UnavailableMetadata {
  /** Its message says why, and names the remedy. */
  readonly error: Error
  /** `refuse`: they answer 503; `worker`: they run in worker processes. */
  readonly instead: 'refuse' | 'worker'
}

/** A request that a middleware refused: why, and the detail of the moment. */
export interface RefusalMetadata {
  readonly reason: string
  readonly [detail: string]: unknown
}

/** Every event kind and its metadata. */
export interface LifecycleEventMap {
  'server:listening': { readonly hostname: string; readonly port: number; readonly path?: string }
  'server:shutdown': { readonly hostname: string; readonly port: number; readonly reason: string }
  'route:loaded': RouteMetadata
  'route:reloaded': RouteMetadata
  'route:removed': RouteMetadata
  'route:skipped': RouteMetadata & { readonly reason: string }
  'route:error': RouteMetadata & { readonly error: unknown }
  'reload:error': RouteMetadata & { readonly error: unknown }
  'view:compiled': ViewMetadata
  'view:rendered': ViewMetadata
  'view:refreshed': ViewMetadata
  'view:error': ViewMetadata & { readonly error: unknown }
  'request:complete': RequestMetadata
  'request:error': RequestMetadata
  'worker:timeout': WorkerMetadata
  'worker:crash': WorkerMetadata
  'worker:respawn': WorkerMetadata
  'worker:rejected': WorkerMetadata
  'isolate:boot': IsolateMetadata
  'isolate:missing': IsolateMetadata
  'isolate:ready': IsolateMetadata
  'isolate:stale': IsolateMetadata
  'isolate:drop': IsolateMetadata
  'isolate:residue': IsolateMetadata
  'isolate:unsettled': IsolateMetadata
  'isolate:cold': IsolateMetadata
  'isolate:complete': IsolateMetadata
  'isolate:timeout': IsolateMetadata
  'isolate:memory': IsolateMetadata
  'isolate:crash': IsolateMetadata
  'isolate:lost': IsolateMetadata
  'isolate:rejected': IsolateMetadata
  'isolate:denied': IsolateMetadata
  'isolate:unavailable': UnavailableMetadata
  'sandbox:complete': SandboxMetadata
  'sandbox:timeout': SandboxMetadata
  'sandbox:memory': SandboxMetadata
  'sandbox:crash': SandboxMetadata
  'sandbox:denied': SandboxMetadata
  'sandbox:lost': SandboxMetadata
  'sandbox:rejected': SandboxMetadata
  'sandbox:ready': SandboxMetadata
  'sandbox:drop': SandboxMetadata
  'sandbox:swap': SandboxMetadata
  'sandbox:refused': SandboxMetadata
  'tenant:loaded': TenantMetadata
  'tenant:swap': TenantMetadata
  'tenant:refused': TenantMetadata
  'tenant:removed': TenantMetadata
  'tenant:limited': TenantMetadata
  'tenant:failed': TenantMetadata
  'tenant:denied': TenantMetadata
  'tenant:log': TenantMetadata
  'session:invalid': RefusalMetadata
  'csrf:rule-error': RefusalMetadata
  'auth:failed': RefusalMetadata
  'cors:blocked': RefusalMetadata
  'ip:denied': RefusalMetadata
  'body:rejected': RefusalMetadata
  'validate:failed': RefusalMetadata
  'websocket:rejected': RefusalMetadata
  'static:missing': RefusalMetadata
  'process:error': { readonly origin: ProcessErrorOrigin; readonly error: unknown }
}

/** The name of an event. */
export type LifecycleKind = keyof LifecycleEventMap

/** An event: `timestamp` is milliseconds since the epoch. Narrow it by `kind`. */
export type LifecycleEvent<K extends LifecycleKind = LifecycleKind> = {
  [P in K]: { readonly kind: P; readonly metadata: LifecycleEventMap[P]; readonly timestamp: number }
}[K]

/** A listener. What it throws, or a promise of its that rejects, is reported once and never breaks a request. */
export type LifecycleListener<K extends LifecycleKind = LifecycleKind> = (
  event: LifecycleEvent<K>,
) => void | Promise<void>

/** Every kind, in the order of the table in the docs. */
export const LIFECYCLE_KINDS: readonly LifecycleKind[] = Object.freeze(
  [
    'server:listening',
    'server:shutdown',
    'route:loaded',
    'route:reloaded',
    'route:removed',
    'route:skipped',
    'route:error',
    'reload:error',
    'view:compiled',
    'view:rendered',
    'view:refreshed',
    'view:error',
    'request:complete',
    'request:error',
    'worker:timeout',
    'worker:crash',
    'worker:respawn',
    'worker:rejected',
    'isolate:boot',
    'isolate:missing',
    'isolate:ready',
    'isolate:stale',
    'isolate:drop',
    'isolate:residue',
    'isolate:unsettled',
    'isolate:cold',
    'isolate:complete',
    'isolate:timeout',
    'isolate:memory',
    'isolate:crash',
    'isolate:lost',
    'isolate:rejected',
    'isolate:denied',
    'isolate:unavailable',
    'sandbox:complete',
    'sandbox:timeout',
    'sandbox:memory',
    'sandbox:crash',
    'sandbox:denied',
    'sandbox:lost',
    'sandbox:rejected',
    'sandbox:ready',
    'sandbox:drop',
    'sandbox:swap',
    'sandbox:refused',
    'tenant:loaded',
    'tenant:swap',
    'tenant:refused',
    'tenant:removed',
    'tenant:limited',
    'tenant:failed',
    'tenant:denied',
    'tenant:log',
    'session:invalid',
    'csrf:rule-error',
    'auth:failed',
    'cors:blocked',
    'ip:denied',
    'body:rejected',
    'validate:failed',
    'websocket:rejected',
    'static:missing',
    'process:error',
  ] as const satisfies readonly LifecycleKind[],
)
