/** What kind of value something is, as far as a source text tells. */

/** The kind of a value. */
export type Shape =
  | { readonly kind: 'any' }
  | TextShape
  | NumberShape
  | { readonly kind: 'boolean' }
  /** One of these. */
  | { readonly kind: 'values'; readonly values: readonly unknown[] }
  | { readonly kind: 'list'; readonly item: Shape }
  | { readonly kind: 'tuple'; readonly items: readonly Shape[] }
  | ObjectShape
  /** Members of any name. */
  | { readonly kind: 'record'; readonly item: Shape }
  | { readonly kind: 'union'; readonly options: readonly Shape[] }

/** Text, of a length, that follows a pattern or a format: `email`, `date`. */
export interface TextShape {
  readonly kind: 'text'
  readonly format?: string
  readonly pattern?: string
  readonly least?: number
  readonly most?: number
}

/** A number between two others. */
export interface NumberShape {
  readonly kind: 'number'
  readonly whole?: boolean
  readonly least?: number
  readonly most?: number
}

/** An object of these members. */
export interface ObjectShape {
  readonly kind: 'object'
  readonly members: ReadonlyMap<string, MemberShape>
}

/** A member of an object. */
export interface MemberShape {
  readonly shape: Shape
  readonly optional: boolean
}

/** Of which nothing is known. */
export const ANY: Shape = { kind: 'any' }

/** Parts of one shape at most: texts that name each other again and again would make it large. */
export const MOST_PARTS = 400
/** Shapes inside each other at most. */
const DEEPEST = 12

/** Counts parts down. */
export interface Budget {
  left: number
}

/** Whether one more part may be looked at. */
export function spend(budget: Budget, depth: number): boolean {
  return depth <= DEEPEST && budget.left-- > 0
}

/** Of several, none twice by identity; one of one is that. */
export function toUnion(options: readonly Shape[]): Shape {
  const flat = options.flatMap((shape) => shape.kind === 'union' ? shape.options : [shape])
  const values = flat.flatMap((shape) => shape.kind === 'values' ? shape.values : [])
  const other = flat.filter(({ kind }) => kind !== 'values')
  const all: Shape[] = values.length === 0
    ? other
    : [{ kind: 'values', values: [...new Set(values)] }, ...other]
  return all.length === 0 ? ANY : all.length === 1 ? all[0]! : { kind: 'union', options: all }
}

/** Members of both; of `more` where both have one. */
export function mergeObjects(one: Shape, more: Shape): Shape {
  if (one.kind !== 'object') return more
  if (more.kind !== 'object') return one
  return { kind: 'object', members: new Map([...one.members, ...more.members]) }
}
