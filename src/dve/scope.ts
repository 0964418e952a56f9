/**
 * Names and what they stand for at compile time. A key is a name or `@index`, with one `^` in front for every `@parent`:
 * `^title` is what `title` means outside the innermost loop.
 */

/** What generated code knows of a value: numbers and booleans need no escape. */
export type Kind = 'number' | 'boolean' | 'string' | 'any'

/** A JavaScript local that holds a name's value. */
export interface Binding {
  readonly code: string
  readonly kind: Kind
}

/** One layer of names: a loop's (with its `@` keys) or those that an include adds. */
export interface Scope {
  readonly parent: Scope | null
  readonly isLoop: boolean
  readonly names: ReadonlyMap<string, Binding>
  /** Keys of this layer that were asked for, so that a loop makes only what its body uses. */
  readonly used: Set<string>
}

export function createScope(
  parent: Scope | null,
  isLoop: boolean,
  names: ReadonlyMap<string, Binding>,
): Scope {
  return { parent, isLoop, names, used: new Set() }
}

/** The binding of `key`, or the key that is left to look up outside all layers. */
export function resolveKey(scope: Scope | null, key: string): Binding | string {
  let up = 0
  while (key[up] === '^') up++
  const name = key.slice(up)
  let layer = scope
  for (; layer !== null; layer = layer.parent) {
    if (layer.isLoop && up > 0) {
      up--
      continue
    }
    if (up > 0) continue
    const binding = layer.names.get(name)
    if (binding === undefined) continue
    layer.used.add(name)
    return binding
  }
  return '^'.repeat(up) + name
}
