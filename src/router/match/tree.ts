import { ANY_METHOD } from './methods.ts'
import { expandOptional, parameterNames, parsePattern, type Segment } from './pattern.ts'
import { escapeLiteral } from './pathname.ts'

/** Decoded parameters by name; the prototype is null. */
export type Params = Readonly<Record<string, string>>

/** A route was found. */
export const FOUND = 200
/** No pattern matches the path. */
export const NOT_FOUND = 404
/** Patterns match the path, and none of them has the method: see `allowedMethods`. */
export const NO_METHOD = 405
/** The path holds a malformed percent escape. */
export const BAD_ESCAPE = 400
/** A parameter is longer than `maxParamLength`. */
export const TOO_LONG = 414

/** What a match found. One shape with {@link Missed}, so that call sites stay monomorphic. */
export interface Found<T> {
  readonly outcome: typeof FOUND
  readonly value: T
  readonly params: Params
  /** The pattern as inserted, `/users/[id]`. */
  readonly pattern: string
}

/** Why nothing was found; the outcome is the HTTP status to answer. Shared and frozen. */
export interface Missed {
  readonly outcome: typeof NOT_FOUND | typeof NO_METHOD | typeof BAD_ESCAPE | typeof TOO_LONG
  readonly value: undefined
  readonly params: Params
  readonly pattern: ''
}

/** The answer of `match`. */
export type Match<T> = Found<T> | Missed

/** The parameters of every match without any. */
export const NO_PARAMS: Params = Object.freeze(Object.create(null))

/** What one pattern holds: a value for each method. */
export interface Leaf<T> {
  readonly pattern: string
  /** Names of the captures, left to right; a catch-all below a mount has none. */
  readonly names: readonly string[]
  /** What a request of that method gets, HEAD from GET filled in. Its params are {@link NO_PARAMS}. */
  readonly byMethod: Map<string, Found<T>>
  /** The methods that were inserted, without those filled in. */
  readonly inserted: Set<string>
  /** For each method that `byMethod` lacks. */
  any: Found<T> | null
}

/** Children whose segment has literal text around a parameter, all with the same lengths. */
export interface MixedGroup<T> {
  /** Lengths of the decoded text, which give the precedence. */
  readonly literalLength: number
  readonly decodedPrefixLength: number
  /** Lengths in the normal form, which cut the segment. */
  readonly prefixLength: number
  readonly suffixLength: number
  /** By `prefix/suffix`: a slash cannot occur in either. */
  readonly byText: Map<string, Node<T>>
}

/** A node of the tree: one edge is one whole segment, so a child is one Map lookup however many there are. */
export interface Node<T> {
  literals: Map<string, Node<T>> | null
  /** Longest literal text first; of equals, the longest prefix first. */
  mixed: MixedGroup<T>[] | null
  parameter: Node<T> | null
  catchAll: Leaf<T> | null
  leaf: Leaf<T> | null
}

/**
 * Patterns and their values.
 *
 * ```
 * statics   '/about' -> Leaf           patterns of literals only, by whole path: one lookup
 * root      'users' -> [ ] -> Leaf      all others, one node a segment
 * ```
 */
export interface Tree<T> {
  readonly statics: Map<string, Leaf<T>>
  readonly root: Node<T>
  /** Longest decoded parameter, in UTF-16 units. */
  readonly maxParamLength: number
}

/** Makes an empty tree. `maxParamLength` is in UTF-16 units of the decoded value. */
export function createTree<T>(options: { maxParamLength?: number } = {}): Tree<T> {
  return { statics: new Map(), root: createNode(), maxParamLength: options.maxParamLength ?? 1024 }
}

function createNode<T>(): Node<T> {
  return { literals: null, mixed: null, parameter: null, catchAll: null, leaf: null }
}

/**
 * Adds `value` for `method` (`'*'`: for every method that the pattern has no other value for).
 *
 * Throws `SyntaxError` on a malformed pattern and `TypeError` if the place is taken: by the same method, or by a
 * pattern that matches the same paths under other names.
 */
export function insert<T>(tree: Tree<T>, pattern: string, method: string, value: T): void {
  const parsed = parsePattern(pattern)
  for (const segments of expandOptional(parsed)) {
    setMethod(leafAt(tree, segments, parsed.text), method, value)
  }
}

/** Adds `value` for every method of `pattern` and of all paths below it, where nothing more specific matches. */
export function insertMount<T>(tree: Tree<T>, pattern: string, value: T): void {
  const parsed = parsePattern(pattern)
  for (const segments of expandOptional(parsed)) {
    setMethod(leafAt(tree, segments, parsed.text), ANY_METHOD, value)
    if (segments.at(-1)?.kind === 'catchAll') continue
    const below: Segment = { kind: 'catchAll', name: '', optional: false }
    setMethod(leafAt(tree, [...segments, below], parsed.text), ANY_METHOD, value)
  }
}

function leafAt<T>(tree: Tree<T>, segments: readonly Segment[], pattern: string): Leaf<T> {
  const names = parameterNames(segments).filter((name) => name !== '')
  let leaf: Leaf<T>
  if (segments.every((segment) => segment.kind === 'literal')) {
    const path = '/' + segments.map((segment) => escapeLiteral(segment.text)).join('/')
    leaf = tree.statics.get(path) ?? createLeaf(pattern, names)
    tree.statics.set(path, leaf)
  } else {
    let node = tree.root
    for (const segment of segments) if (segment.kind !== 'catchAll') node = childFor(node, segment)
    if (segments.at(-1)?.kind === 'catchAll') leaf = node.catchAll ??= createLeaf(pattern, names)
    else leaf = node.leaf ??= createLeaf(pattern, names)
  }
  if (leaf.pattern !== pattern) {
    throw new TypeError(`insert pattern: '${pattern}', wanted other paths than those of '${leaf.pattern}'`)
  }
  return leaf
}

function createLeaf<T>(pattern: string, names: readonly string[]): Leaf<T> {
  return { pattern, names, byMethod: new Map(), inserted: new Set(), any: null }
}

function setMethod<T>(leaf: Leaf<T>, method: string, value: T): void {
  if (leaf.inserted.has(method)) {
    throw new TypeError(`insert pattern: '${leaf.pattern}', wanted ${method} once`)
  }
  leaf.inserted.add(method)
  const found: Found<T> = { outcome: FOUND, value, params: NO_PARAMS, pattern: leaf.pattern }
  if (method === ANY_METHOD) leaf.any = found
  else leaf.byMethod.set(method, found)
  if (method === 'GET' && !leaf.inserted.has('HEAD')) leaf.byMethod.set('HEAD', found)
}

function childFor<T>(node: Node<T>, segment: Segment): Node<T> {
  if (segment.kind === 'literal') {
    return getOrCreate(node.literals ??= new Map(), escapeLiteral(segment.text))
  }
  if (segment.kind === 'mixed') {
    const prefix = escapeLiteral(segment.prefix)
    const suffix = escapeLiteral(segment.suffix)
    const groups = node.mixed ??= []
    return getOrCreate(groupFor(groups, segment.prefix, segment.suffix).byText, `${prefix}/${suffix}`)
  }
  return node.parameter ??= createNode()
}

function groupFor<T>(groups: MixedGroup<T>[], prefix: string, suffix: string): MixedGroup<T> {
  const literalLength = prefix.length + suffix.length
  const prefixLength = escapeLiteral(prefix).length
  const suffixLength = escapeLiteral(suffix).length
  const known = groups.find((group) =>
    group.prefixLength === prefixLength && group.suffixLength === suffixLength &&
    group.literalLength === literalLength && group.decodedPrefixLength === prefix.length
  )
  if (known !== undefined) return known
  const group: MixedGroup<T> = {
    literalLength,
    decodedPrefixLength: prefix.length,
    prefixLength,
    suffixLength,
    byText: new Map(),
  }
  groups.push(group)
  groups.sort((a, b) => b.literalLength - a.literalLength || b.decodedPrefixLength - a.decodedPrefixLength)
  return group
}

function getOrCreate<T>(nodes: Map<string, Node<T>>, key: string): Node<T> {
  let node = nodes.get(key)
  if (node === undefined) nodes.set(key, node = createNode())
  return node
}
