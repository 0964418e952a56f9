/** Documents of JSON with something of everything, for handlers that take any. */
import { TEXT_SAMPLES } from './text_samples.ts'

/** The document of request `turn`; that of the probe for -1. */
export function sampleDocument(turn: number): unknown {
  return turn < 0 ? PROBE : DOCUMENTS[turn % DOCUMENTS.length]
}

const PERSON = {
  name: 'Ann',
  age: 27,
  email: 'a@warmup.example',
  tags: ['a', 'b'],
  address: { city: 'Köln', zip: '92768' },
  active: true,
}
const PEOPLE = Array.from({ length: 20 }, (_, index) => ({
  ...PERSON,
  name: index % 3 === 0 ? `Jörg ${index}` : `warmup ${index}`,
  age: 9 + index * 3,
  tags: PERSON.tags.slice(index % 3),
}))
/** Around the bounds of what is written in one, two, four and eight bytes. */
const NUMBERS = [
  0,
  1,
  31,
  32,
  127,
  128,
  255,
  256,
  65_535,
  65_536,
  2 ** 31,
  2 ** 32,
  9_276_870_000_000,
  0.5,
  9.27e-7,
]
const RICH = {
  id: 927687,
  title: 'Warmup',
  name: 'warmup',
  text: 'Grüße, "quoted" <b>&</b> 漢字 🐝\n'.repeat(4),
  count: 27,
  price: -9.27,
  large: 9_276_870_000,
  open: true,
  closed: false,
  none: null,
  date: '1987-06-27T09:27:06Z',
  tags: ['a', 'größe'],
  numbers: [1, 2.5, -3, 1e9],
  empty: {},
  list: [],
  people: PEOPLE.slice(0, 2),
  items: PEOPLE.slice(2, 4),
  deep: { er: { still: [{ x: 1 }, [2, [3]]] } },
}
const LARGE = {
  ...RICH,
  text: TEXT_SAMPLES.prose,
  numbers: [...NUMBERS, ...NUMBERS.map((number) => -number)],
  people: PEOPLE,
  texts: { prose: TEXT_SAMPLES.prose, markdown: TEXT_SAMPLES.markdown, short: 'x'.repeat(40) },
}
/** For the turns in order. */
const DOCUMENTS: readonly unknown[] = [
  RICH,
  { id: 'warmup' },
  {
    name: 'Grüße warmup',
    größe: 1,
    list: [1, 'two', null, { three: 3 }],
    nested: { a: { b: 'c' } },
    items: [PERSON],
  },
  [],
  { ...RICH, id: '9276870', people: [], title: '<i>warmup</i>', value: 8.7 },
  LARGE,
  RICH,
  {},
  [PERSON, { ...PERSON, name: 'Zoë' }, 'text', 9, null],
  { ...LARGE, id: 'warmup-4', message: 'warm up', people: PEOPLE.slice(0, 9) },
]
const PROBE = {
  id: 77623,
  name: 'probe',
  title: 'Probe',
  tags: ['probe'],
  people: [{ name: 'probe', age: 5 }],
  message: 'probe',
}
