/** Values as text for people, much as Deno and Node show them. Getters and traps of the application's own may run: errors of those are shown. */
import { host } from './host.ts'

const DEPTH = 4
const LINE = 72
const MOST_ITEMS = 100
const MOST_TEXT = 10_000

/** Shows the members of an interface, which are no properties of its objects. */
type View = (value: object) => unknown

const views = new Map<object, View>()

/** Lets objects with this prototype be shown as what `view` gives. */
export function registerView(prototype: object, view: View): void {
  views.set(prototype, view)
}

interface Walk {
  readonly depth: number
  readonly path: object[]
  /** Objects that contain themselves, numbered as they are found. */
  readonly circular: Map<object, number>
}

/** A value as text. Never throws. */
export function inspect(value: unknown, depth = DEPTH): string {
  return show(value, { depth, path: [], circular: new Map() })
}

function show(value: unknown, walk: Walk): string {
  switch (typeof value) {
    case 'string':
      return quote(value)
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value)
    case 'bigint':
      return `${value}n`
    case 'symbol':
      return String(value)
    case 'object':
    case 'function':
      return value === null ? 'null' : showObject(value, walk)
    default:
      return String(value)
  }
}

function quote(text: string): string {
  const shown = text.length > MOST_TEXT ? text.slice(0, MOST_TEXT) : text
  const mark = !shown.includes('"') ? '"' : !shown.includes("'") ? "'" : !shown.includes('`') ? '`' : '"'
  const inner = JSON.stringify(shown).slice(1, -1).replaceAll('\\"', mark === '"' ? '\\"' : '"')
  const rest = text.length - shown.length
  return mark + inner + mark + (rest > 0 ? `... ${rest} more characters` : '')
}

function showObject(value: object, walk: Walk): string {
  if (walk.path.includes(value)) {
    const number = walk.circular.get(value) ?? walk.circular.size + 1
    walk.circular.set(value, number)
    return `[Circular *${number}]`
  }
  walk.path.push(value)
  try {
    const text = showKind(value, walk)
    const number = walk.circular.get(value)
    return number === undefined ? text : `<ref *${number}> ${text}`
  } catch (error) {
    return `[cannot be shown: ${error instanceof Error ? error.name : typeof error}]`
  } finally {
    walk.path.pop()
  }
}

function showKind(value: object, walk: Walk): string {
  const name = nameOf(value)
  const view = views.get(Object.getPrototypeOf(value))
  if (view !== undefined) return `${name} ${show(view(value), walk)}`
  if (value instanceof Error) return showError(value, walk)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (value instanceof RegExp) return String(value)
  const deep = walk.path.length > walk.depth
  if (typeof value === 'function') return join(showFunction(value), '{', showMembers(value, walk, deep), '}')
  if (Array.isArray(value)) {
    if (deep) return '[Array]'
    const prefix = name === 'Array' ? '' : `${name}(${value.length}) `
    return join(prefix, '[', [...showItems(value, walk), ...showMembers(value, walk, false, true)], ']', true)
  }
  if (deep) return `[${name || 'Object: null prototype'}]`
  if (value instanceof Map) {
    const pairs = limit([...value], ([key, item]) => `${show(key, walk)} => ${show(item, walk)}`)
    return join(`${name}(${value.size}) `, '{', [...pairs, ...showMembers(value, walk, false)], '}', true)
  }
  if (value instanceof Set) {
    const items = limit([...value], (item) => show(item, walk))
    return join(`${name}(${value.size}) `, '{', [...items, ...showMembers(value, walk, false)], '}', true)
  }
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    const items = limit(Array.from(value as Uint8Array), (item) => show(item, walk))
    return join(`${name}(${(value as Uint8Array).length}) `, '[', items, ']', true)
  }
  if (value instanceof ArrayBuffer) return `${name} { byteLength: ${value.byteLength} }`
  if (value instanceof Promise) return showPromise(value, walk)
  if (value instanceof WeakMap || value instanceof WeakSet) return `${name} { <items unknown> }`
  const boxed = showBoxed(value)
  if (boxed !== undefined) return boxed
  const prefix = name === '' ? '[Object: null prototype] ' : name === 'Object' ? '' : `${name} `
  return join(prefix, '{', showMembers(value, walk, false), '}', true)
}

function showError(error: Error, walk: Walk): string {
  const head = `${error.name}: ${error.message}`
  const stack = typeof error.stack === 'string' ? error.stack : ''
  // Engines differ in whether a stack begins with the message.
  const text = stack === '' ? head : stack.startsWith(error.name) ? stack : `${head}\n${stack}`
  const members = showMembers(error, walk, walk.path.length > walk.depth)
  const cause = error.cause === undefined ? '' : `\nCaused by: ${show(error.cause, walk)}`
  return (members.length === 0 ? text : `${text} ${join('', '{', members, '}')}`).trimEnd() + cause
}

function showFunction(value: CallableFunction): string {
  const isClass = /^class\b/.test(Function.prototype.toString.call(value))
  const kind = isClass ? 'class' : nameOf(value) || 'Function'
  const parent = isClass ? Object.getPrototypeOf(value)?.name : ''
  const name = value.name === '' ? '(anonymous)' : value.name
  return isClass
    ? `[class ${name}${parent ? ` extends ${parent}` : ''}]`
    : `[${kind}${value.name === '' ? ' ' : ': '}${name}]`
}

function showPromise(value: Promise<unknown>, walk: Walk): string {
  const state = host.promiseState?.(value) ?? -1
  if (state === 0) return 'Promise { <pending> }'
  if (state < 0 || host.promiseValue === undefined) return 'Promise { <unknown> }'
  return join(
    'Promise ',
    '{',
    [`${state === 2 ? '<rejected> ' : ''}${show(host.promiseValue(value), walk)}`],
    '}',
  )
}

function showBoxed(value: object): string | undefined {
  for (const type of [Number, String, Boolean, Symbol, BigInt]) {
    if (value instanceof type) return `[${type.name}: ${inspect(value.valueOf())}]`
  }
}

function showItems(value: readonly unknown[], walk: Walk): string[] {
  const items: string[] = []
  let holes = 0
  const endHoles = () => {
    if (holes > 0) items.push(`<${holes} empty item${holes > 1 ? 's' : ''}>`)
    holes = 0
  }
  const shown = Math.min(value.length, MOST_ITEMS)
  for (let index = 0; index < shown; index++) {
    if (!(index in value)) holes++
    else {
      endHoles()
      items.push(show(value[index], walk))
    }
  }
  endHoles()
  return more(items, value.length - shown)
}

/** Own enumerable properties; of an array those that are no items. */
function showMembers(value: object, walk: Walk, deep: boolean, named = false): string[] {
  if (deep) return []
  const members: string[] = []
  for (const key of Reflect.ownKeys(value)) {
    const described = Object.getOwnPropertyDescriptor(value, key)
    if (described?.enumerable !== true || (named && /^\d+$/.test(String(key)))) continue
    const shown = 'value' in described
      ? show(described.value, walk)
      : `[${[described.get && 'Getter', described.set && 'Setter'].filter(Boolean).join('/')}]`
    members.push(`${showKey(key)}: ${shown}`)
    if (members.length === MOST_ITEMS) break
  }
  return members
}

function showKey(key: PropertyKey): string {
  if (typeof key === 'symbol') return `[${String(key)}]`
  return /^[A-Za-z_$][\w$]*$/.test(String(key)) ? String(key) : quote(String(key))
}

function limit<T>(items: readonly T[], text: (item: T) => string): string[] {
  return more(items.slice(0, MOST_ITEMS).map(text), items.length - MOST_ITEMS)
}

function more(items: string[], left: number): string[] {
  if (left > 0) items.push(`... ${left} more item${left > 1 ? 's' : ''}`)
  return items
}

/** One line if it fits, else one a member. */
function join(prefix: string, open: string, parts: readonly string[], close: string, always = false): string {
  if (parts.length === 0) return always ? `${prefix}${open}${close}` : prefix.trimEnd()
  const start = prefix === '' || prefix.endsWith(' ') ? prefix : `${prefix} `
  const width = parts.reduce((sum, part) => sum + part.length + 2, start.length)
  if (width <= LINE && !parts.some((part) => part.includes('\n'))) {
    return `${start}${open} ${parts.join(', ')} ${close}`
  }
  return `${start}${open}\n${parts.map((part) => `  ${part.replaceAll('\n', '\n  ')}`).join(',\n')}\n${close}`
}

/** The name of an object's class; '' without a prototype. */
function nameOf(value: object): string {
  for (let each = value; each !== null; each = Object.getPrototypeOf(each)) {
    const described = Object.getOwnPropertyDescriptor(each, 'constructor')
    const name = (described?.value as { name?: unknown } | undefined)?.name
    if (typeof name === 'string' && name !== '') return name
  }
  return ''
}
