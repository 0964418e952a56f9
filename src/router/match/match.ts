import { METHODS } from './methods.ts'
import { decodeEscapes, decodeRest } from './pathname.ts'
import {
  BAD_ESCAPE,
  FOUND,
  type Leaf,
  type Match,
  type Missed,
  type MixedGroup,
  NO_METHOD,
  NO_PARAMS,
  type Node,
  NOT_FOUND,
  type Params,
  TOO_LONG,
  type Tree,
} from './tree.ts'

const SLASH = 47
const PERCENT = 37

const notFound = missed(NOT_FOUND)
const noMethod = missed(NO_METHOD)
const badEscape = missed(BAD_ESCAPE)
const tooLong = missed(TOO_LONG)

function missed(outcome: Missed['outcome']): Missed {
  return Object.freeze({ outcome, value: undefined, params: NO_PARAMS, pattern: '' as const })
}

/**
 * The walk in hand. One object serves every walk: a walk never yields, so two cannot overlap.
 * `starts` and `ends` are the bounds in `path` of each capture, by its number.
 */
const walk = {
  path: '',
  method: '',
  starts: [] as number[],
  ends: [] as number[],
  /** Some pattern matched the path, whatever its methods. */
  matched: false,
}

/**
 * Finds what serves `method` at `pathname`.
 *
 * `pathname` starts with `/` and holds no query; it may be as it arrived or in the normal form of
 * `normalizePathname`. A match without parameters costs two Map lookups and allocates nothing. A walk visits a
 * node of the tree at most once, as a node is reached by one sequence of segments only, so its cost is bounded by
 * the nodes whose patterns fit a beginning of the path; neither repetition nor length of the path adds to it.
 */
export function match<T>(tree: Tree<T>, pathname: string, method: string): Match<T> {
  const leaf = tree.statics.get(pathname)
  if (leaf === undefined) return search(tree, pathname, method)
  const found = leaf.byMethod.get(method) ?? leaf.any
  return found !== null ? found : search(tree, pathname, method)
}

function search<T>(tree: Tree<T>, pathname: string, method: string): Match<T> {
  const path = toWalkable(pathname)
  if (path === null) return badEscape
  if (path === '') return notFound
  const fixed = tree.statics.get(path)
  if (fixed !== undefined) {
    const found = fixed.byMethod.get(method) ?? fixed.any
    if (found !== null) return found
  }
  walk.path = path
  walk.method = method
  walk.matched = fixed !== undefined
  const leaf = path.length === 1 ? null : descend(tree.root, 1, 0)
  if (leaf === null) return walk.matched ? noMethod : notFound
  const params = toParams(leaf, path, tree.maxParamLength)
  if (params === null) return tooLong
  const found = leaf.byMethod.get(method) ?? leaf.any!
  return { outcome: FOUND, value: found.value, params, pattern: leaf.pattern }
}

/** Normal form without trailing slash; '' if nothing can match it, null if an escape is malformed. */
function toWalkable(pathname: string): string | null {
  const path = decodeEscapes(pathname)
  if (path === null) return null
  if (path.charCodeAt(0) !== SLASH || path.indexOf('//') !== -1) return ''
  const last = path.length - 1
  return last > 0 && path.charCodeAt(last) === SLASH ? path.slice(0, last) : path
}

/** The best leaf below `node` that has the method, or null. `start` is where the next segment begins. */
function descend<T>(node: Node<T>, start: number, captures: number): Leaf<T> | null {
  const path = walk.path
  if (start > path.length) return accept(node.leaf)
  let end = path.indexOf('/', start)
  if (end === -1) end = path.length
  if (node.literals !== null) {
    const child = node.literals.get(path.slice(start, end))
    const leaf = child === undefined ? null : descend(child, end + 1, captures)
    if (leaf !== null) return leaf
  }
  if (node.mixed !== null) {
    for (let index = 0; index < node.mixed.length; index++) {
      const child = mixedChild(node.mixed[index]!, start, end)
      if (child === undefined) continue
      capture(captures, start + node.mixed[index]!.prefixLength, end - node.mixed[index]!.suffixLength)
      const leaf = descend(child, end + 1, captures + 1)
      if (leaf !== null) return leaf
    }
  }
  if (node.parameter !== null) {
    capture(captures, start, end)
    const leaf = descend(node.parameter, end + 1, captures + 1)
    if (leaf !== null) return leaf
  }
  if (node.catchAll === null) return null
  capture(captures, start, path.length)
  return accept(node.catchAll)
}

function accept<T>(leaf: Leaf<T> | null): Leaf<T> | null {
  if (leaf === null) return null
  walk.matched = true
  return leaf.any !== null || leaf.byMethod.has(walk.method) ? leaf : null
}

function capture(index: number, start: number, end: number): void {
  walk.starts[index] = start
  walk.ends[index] = end
}

/** The child whose literal text surrounds the segment and leaves at least one character between. */
function mixedChild<T>(group: MixedGroup<T>, start: number, end: number): Node<T> | undefined {
  const from = start + group.prefixLength
  const to = end - group.suffixLength
  if (from >= to) return undefined
  const path = walk.path
  if (
    group.suffixLength > 0 && (path.charCodeAt(to - 1) === PERCENT || path.charCodeAt(to - 2) === PERCENT)
  ) {
    return undefined // the suffix '5' must not match the end of an escape such as '%25'
  }
  return group.byText.get(`${path.slice(start, from)}/${path.slice(to, end)}`)
}

/** The decoded captures by name, or null if one is too long. */
function toParams<T>(leaf: Leaf<T>, path: string, maxLength: number): Params | null {
  const names = leaf.names
  if (names.length === 0) return NO_PARAMS
  const params: Record<string, string> = Object.create(null)
  for (let index = 0; index < names.length; index++) {
    const value = decodeRest(path.slice(walk.starts[index], walk.ends[index]))
    if (value.length > maxLength) return null
    params[names[index]!] = value
  }
  return params
}

/**
 * The methods that some pattern has for `pathname`, sorted: HEAD with GET, OPTIONS with any. Empty if no pattern
 * matches. A value for every method counts as all of {@link METHODS}.
 */
export function allowedMethods<T>(tree: Tree<T>, pathname: string): string[] {
  const path = toWalkable(pathname)
  if (path === null || path === '') return []
  const methods = new Set<string>()
  addMethods(tree.statics.get(path) ?? null, methods)
  walk.path = path
  if (path.length > 1) collect(tree.root, 1, methods)
  if (methods.size > 0) methods.add('OPTIONS')
  return [...methods].sort()
}

function addMethods<T>(leaf: Leaf<T> | null, methods: Set<string>): void {
  if (leaf === null) return
  for (const method of leaf.byMethod.keys()) methods.add(method)
  if (leaf.any !== null) { for (const method of METHODS) methods.add(method) }
}

function collect<T>(node: Node<T>, start: number, methods: Set<string>): void {
  const path = walk.path
  if (start > path.length) return addMethods(node.leaf, methods)
  let end = path.indexOf('/', start)
  if (end === -1) end = path.length
  const literal = node.literals?.get(path.slice(start, end))
  if (literal !== undefined) collect(literal, end + 1, methods)
  for (const group of node.mixed ?? []) {
    const child = mixedChild(group, start, end)
    if (child !== undefined) collect(child, end + 1, methods)
  }
  if (node.parameter !== null) collect(node.parameter, end + 1, methods)
  addMethods(node.catchAll, methods)
}
