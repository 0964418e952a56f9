import type { Awaitable, Context, ContextGet } from '../context/types.ts'
import type { Method } from '../router/match/methods.ts'

/** The parameters of a pattern by name: `RouteParams<'/users/[id]/[[tab]]'>` is `{ id: string; tab?: string }`. */
export type RouteParams<Pattern extends string> = string extends Pattern
  ? Readonly<Record<string, string | undefined>>
  : Flat<PathParams<Pattern>>

type PathParams<Path extends string> = Path extends `${infer First}/${infer Rest}`
  ? SegmentParams<First> & PathParams<Rest>
  : SegmentParams<Path>

type SegmentParams<Segment extends string> = Segment extends `[[...${infer Name}]]`
  ? { readonly [N in Name]?: string }
  : Segment extends `[[${infer Name}]]` ? { readonly [N in Name]?: string }
  : Segment extends `[...${infer Name}]` ? { readonly [N in Name]: string }
  : Segment extends `${string}[${infer Name}]${string}` ? { readonly [N in Name]: string }
  : unknown

/** An intersection as one object. */
type Flat<T> = { readonly [Name in keyof T]: T[Name] }

/** `ctx.get` of a route with this pattern. */
export interface RouteGet<Pattern extends string> extends Omit<ContextGet, 'param'> {
  /** Route parameters, decoded once. The record has a null prototype. */
  param(): RouteParams<Pattern>
  param<Name extends keyof RouteParams<Pattern>>(name: Name): RouteParams<Pattern>[Name]
}

/** A {@linkcode Context} whose parameters are those of the pattern; it goes wherever a `Context` goes. */
export interface RouteContext<Pattern extends string> extends Omit<Context, 'get' | 'fail'> {
  readonly get: RouteGet<Pattern>
  /** Ends the request with an error page. The message is shown to the client. */
  fail(status: number, message?: string): never
}

/**
 * The handlers of a route file by method, with the parameters of its pattern:
 *
 * ```ts
 * import type { Handlers } from '@mayfly/mayfly'
 *
 * export const { GET } = {
 *   GET: (ctx) => ctx.send.text(ctx.get.param('id')),
 * } satisfies Handlers<'/users/[id]'>
 * ```
 */
export type Handlers<Pattern extends string = string> = {
  readonly [M in Method]?: (ctx: RouteContext<Pattern>) => Awaitable<Response>
}
