import { assert, assertEquals, assertThrows } from '@std/assert'
import { checkOption, checkOptions, findFaults } from '../../src/options/check.ts'
import { withDefaults } from '../../src/options/resolve.ts'
import {
  flag,
  integer,
  isObject,
  milliseconds,
  object,
  oneOf,
  type OptionRules,
  required,
  rule,
  text,
} from '../../src/options/rule.ts'

interface House {
  rooms: number
  colour?: 'red' | 'white'
  key?: string
  lit?: boolean
  garden?: { trees?: number } | false
}

const RULES: OptionRules<House> = {
  rooms: required(integer(1, 9)),
  colour: oneOf('red', 'white'),
  key: { ...text(), secret: true, check: () => RangeError },
  lit: flag(),
  garden: {
    ...object({ trees: integer(0) }),
    ...rule('an object or false', (value) => value === false || isObject(value)),
  },
}

Deno.test('checkOptions names every fault, with the class of the first', () => {
  const cases: [options: unknown, Kind: typeof TypeError | typeof RangeError, message: string][] = [
    [null, TypeError, 'Cannot build: options is null, want an object'],
    [[], TypeError, 'Cannot build: options is [], want an object'],
    [{}, TypeError, 'Cannot build: rooms is missing, want an integer from 1 to 9'],
    [{ rooms: undefined }, TypeError, 'Cannot build: rooms is undefined, want an integer from 1 to 9'],
    [
      { rooms: 10, lit: 1 },
      RangeError,
      'Cannot build: rooms is 10, want an integer from 1 to 9; lit is 1, want true or false',
    ],
    [{ rooms: '1' }, TypeError, 'Cannot build: rooms is "1", want an integer from 1 to 9'],
    [{ rooms: 1, colour: 'blue' }, TypeError, 'Cannot build: colour is "blue", want one of "red", "white"'],
    [{ rooms: 1, key: 'abc' }, RangeError, 'Cannot build: key is text of 3 characters, want non-empty text'],
    [{ rooms: 1, light: true }, TypeError, 'Cannot build: light is no option, did you mean lit'],
    [
      { rooms: 1, constructor: 1 },
      TypeError,
      'Cannot build: constructor is no option, want one of rooms, colour, key, lit, garden',
    ],
    [{ rooms: 1, garden: true }, TypeError, 'Cannot build: garden is true, want an object or false'],
    [
      { rooms: 1, garden: { trees: -1 } },
      RangeError,
      'Cannot build: garden.trees is -1, want an integer of at least 0',
    ],
    [
      { rooms: 1, garden: { tree: 1 } },
      TypeError,
      'Cannot build: garden.tree is no option, did you mean garden.trees',
    ],
  ]
  for (const [options, Kind, message] of cases) {
    const error = assertThrows(() => checkOptions('build', options as House, RULES), Kind)
    assertEquals([error.constructor, error.message], [Kind, message])
  }
  checkOptions('build', { rooms: 1, lit: undefined, garden: false }, RULES)
  checkOptions('build', { rooms: 9, colour: 'red', lit: true, garden: { trees: 3 } }, RULES)
})

Deno.test('a message does not grow with the value', () => {
  const [{ text }] = findFaults({ lit: Array.from({ length: 10_000 }, () => 'x'.repeat(10_000)) }, {
    lit: flag(),
  })
  assert(text.length < 2000, `${text.length} characters`)
})

Deno.test('checkOption checks one value, and milliseconds are what a timer can wait', () => {
  checkOption('wait', 'ms', 2 ** 31 - 1, milliseconds(0))
  assertThrows(
    () => checkOption('wait', 'ms', 2 ** 31, milliseconds(0)),
    RangeError,
    'Cannot wait: ms is 2147483648, want an integer from 0 to 2147483647',
  )
})

Deno.test('withDefaults fills in what is not given or undefined', () => {
  const options: House = { rooms: 2, lit: undefined }
  const resolved = withDefaults(options, { lit: true, garden: false, rooms: 1 })
  const lit: boolean = resolved.lit
  assertEquals(lit, true)
  assertEquals({ ...resolved }, { rooms: 2, lit: true, garden: false })
})
