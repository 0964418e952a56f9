/** A message about a file, named after the lifecycle event that it becomes. */
export interface RouteNotice {
  readonly kind: NoticeKind
  /** As shown to people: `routes/users.ts`. */
  readonly file: string
  /** '' for a `_middleware` or `_error` file and for the folder as a whole. */
  readonly pattern: string
  /** Why, for `route:skipped`. */
  readonly reason?: string
  /** All reasons of the file, for `route:skipped`: each comes in a notice of its own. */
  readonly reasons?: readonly string[]
  /** For `route:error` and `reload:error`. */
  readonly error?: Error
}

export type NoticeKind =
  | 'route:loaded'
  | 'route:reloaded'
  | 'route:removed'
  | 'route:skipped'
  | 'route:error'
  | 'reload:error'
