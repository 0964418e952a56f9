/**
 * `Intl` of a runtime that knows no languages: there, so that a package does not take its absence for permission to guess, and refusing.
 * Who catches a refusal and goes on without (i18next: every language has English plurals) would be wrong with nobody told, so the guest
 * asks {@link takeRefusal} before it answers.
 */
import type { DOMException } from './dom_exception.ts'
import { refuse } from './missing.ts'

/** Classes that refuse to be constructed, or called. */
const CLASSES = [
  ...['Collator', 'DisplayNames', 'DurationFormat', 'ListFormat', 'Locale', 'NumberFormat', 'PluralRules'],
  ...['RelativeTimeFormat', 'Segmenter'],
] as const
const FUNCTIONS = ['getCanonicalLocales', 'supportedValuesOf'] as const
const FORMATS = ['format', 'formatToParts', 'formatRange', 'formatRangeToParts'] as const

/** What a `DateTimeFormat` of no wishes says of itself, in Deno in a machine as well: times are UTC here. */
const RESOLVED = { locale: 'en-US', calendar: 'gregory', numberingSystem: 'latn', timeZone: 'UTC' } as const

let refused: DOMException | undefined

/** The first refusal since the last call, whoever caught it. */
export function takeRefusal(): DOMException | undefined {
  const taken = refused
  refused = undefined
  return taken
}

/** Makes the object. Its members can be replaced, as polyfills do. */
export function createIntl(): object {
  const intl = {}
  for (const name of CLASSES) define(intl, name, createClass(name))
  define(intl, 'DateTimeFormat', createDateTimeFormat())
  for (const name of FUNCTIONS) define(intl, name, refusing(`Intl.${name}`))
  Object.defineProperty(intl, Symbol.toStringTag, { value: 'Intl', configurable: true })
  return intl
}

function createClass(name: string): object {
  const made = refusing(`Intl.${name}`)
  if (name !== 'Locale') define(made, 'supportedLocalesOf', refusing(`Intl.${name}.supportedLocalesOf`))
  return made
}

/** One of no wishes tells where and when it is, which packages ask when they load; it formats nothing. */
function createDateTimeFormat(): object {
  function DateTimeFormat(locales?: unknown, options?: unknown): object {
    if (locales !== undefined || options !== undefined) throw note('Intl.DateTimeFormat')
    return Object.create(DateTimeFormat.prototype)
  }
  define(DateTimeFormat, 'supportedLocalesOf', refusing('Intl.DateTimeFormat.supportedLocalesOf'))
  define(DateTimeFormat.prototype, 'resolvedOptions', () => ({ ...RESOLVED }))
  for (const name of FORMATS) {
    define(DateTimeFormat.prototype, name, refusing(`Intl.DateTimeFormat.prototype.${name}`))
  }
  return DateTimeFormat
}

function refusing(what: string): object {
  // A function and no method: it can be constructed.
  const made = function (): never {
    throw note(what)
  }
  Object.defineProperty(made, 'name', { value: what.slice(what.lastIndexOf('.') + 1), configurable: true })
  return made
}

function note(what: string): DOMException {
  const error = refuse(what)
  refused ??= error
  return error
}

function define(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false })
}
