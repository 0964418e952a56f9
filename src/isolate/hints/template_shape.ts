/** What a template that stands in the source shows: `{{#each people}}{{name}}{{/each}}`, `<% for (const p of people) %>`, `{count, plural, ...}`. */
import { ANY, type MemberShape, type Shape } from './shape.ts'
import type { Tokens } from './tokens.ts'

/** A block over a list, and the name of what is in it, in the languages that there are. */
const LIST =
  /(?:\{\{~?#each|\{\{[#^]|\beach (\w{1,40})(?:, ?\w{1,40})? in|\bfor (?:(\w{1,40})(?:, ?\w{1,40})?|\((?:const|let|var) (\w{1,40})) (?:in|of))\s?([a-z_]\w{0,40})/gi
/** A value: between braces, in a tag, or behind a line's equals sign. */
const VALUE = /(?:\{\{\{?[&-]? ?|\{|<%[=-] ?|#\{|!\{|@\{|\w= )([a-z_][\w.]{0,60})/gi
/** A member of something: `person.age`. */
const MEMBER = /\b([a-z_]\w{0,40})\.([a-z_]\w{0,40})(?:\.([a-z_]\w{0,40}))?/gi
/** A member that a filter names: `sort(false, 'age')`, `map: "age"`. */
const FILTER = /\| ?\w{1,40} ?[(:][^|{}%'"]{0,40}['"]([a-z_]\w{0,40})['"]/gi
/** An object: `{{#with address}}`. */
const WITHIN = /\{\{~?#with ([a-z_]\w{0,40})/gi
const WORDS: ReadonlySet<string> = new Set(
  'if else each with end for unless include partial block extends set macro endmacro endif endfor endblock this true false null let const var it locals loop index forloop default assign case when'
    .split(' '),
)
const MOST_NAMES = 24

/** The names that templates of the text ask for; undefined if there is none. What is in a list is not told from what is beside it. */
export function findTemplateShape({ list }: Tokens): Shape | undefined {
  const lists = new Set<string>()
  const objects = new Set<string>()
  const names = new Set<string>()
  for (const { kind, text } of list) {
    if (kind !== 'text' && kind !== 'template') continue
    if (!/\{|<%|\beach /.test(text)) continue
    const things = new Set<string>()
    for (const [, pug, inOf, script, name = ''] of text.matchAll(LIST)) {
      if (name !== '' && !WORDS.has(name) && lists.size < MOST_NAMES) lists.add(name)
      const thing = pug ?? inOf ?? script
      if (thing !== undefined && things.size < MOST_NAMES) things.add(thing)
    }
    for (const [, thing = '', name = '', inner] of text.matchAll(MEMBER)) {
      if (!things.has(thing) || names.size >= MOST_NAMES) continue
      names.add(inner ?? name)
      if (inner !== undefined) objects.add(name)
    }
    for (const [, name] of text.matchAll(FILTER)) if (names.size < MOST_NAMES) names.add(name!)
    for (const [, path] of text.matchAll(VALUE)) {
      const parts = path!.split('.').filter((part) => !WORDS.has(part))
      const name = parts.at(-1)
      if (name !== undefined && names.size < MOST_NAMES) names.add(name)
      // `person.address.city`
      if (parts.length > 2 && objects.size < MOST_NAMES) objects.add(parts.at(-2)!)
    }
    for (const [, name] of text.matchAll(WITHIN)) if (objects.size < MOST_NAMES) objects.add(name!)
  }
  if (lists.size === 0 && names.size === 0) return undefined
  const member = (shape: Shape): MemberShape => ({ shape, optional: false })
  const plain = [...names].filter((name) => !lists.has(name) && !objects.has(name))
    .map((name) => [name, member(ANY)] as const)
  const inner: Shape = { kind: 'object', members: new Map(plain) }
  const values = [...plain, ...[...objects].map((name) => [name, member(inner)] as const)]
  const item: Shape = { kind: 'object', members: new Map([...COMMON, ...values]) }
  const blocks = [...lists].map((name) => [name, member({ kind: 'list', item })] as const)
  return { kind: 'object', members: new Map([...values, ...blocks]) }
}

/** What things in lists are often made of. */
const COMMON: readonly (readonly [string, MemberShape])[] = ['id', 'name', 'title'].map((name) => [
  name,
  { shape: ANY, optional: false },
])
