import { assert, assertEquals } from '@std/assert'
import { findParameters, sampleParameter } from '../../src/isolate/hints/parameter_hints.ts'
import { CLIENTS } from '../../src/isolate/warm/warmup_clients.ts'

/** What each client of the warm-up, and the probe, give a parameter. */
function samples(source: string, name: string): string[] {
  const parameters = findParameters(source)
  return [...CLIENTS.keys(), -1].map((turn) => sampleParameter(parameters, name, turn, 'text'))
}

Deno.test('a parameter has the kind that the source shows, else that of its name', () => {
  const numbers = ['9', '27', '6', '8.7', '62', '5']
  assertEquals(samples("Number(ctx.get.query('points'))", 'points'), numbers)
  assertEquals(samples('parseInt(url.searchParams.get("points") ?? "", 10)', 'points'), numbers)
  assertEquals(samples('', 'page'), numbers)
  assertEquals(samples('', 'from')[0], '1987-06-27')
  for (const name of ['from', 'createdDate', 'updated_time']) {
    for (const value of samples('', name)) assert(!Number.isNaN(Date.parse(value)), value)
  }
  assertEquals(samples('', 'enable')[0], '*')
  assertEquals(samples('', 'level')[0], 'info')
  assertEquals(samples('', 'charset')[1], 'windows-1252')
  for (const value of samples('', 'url')) assert(URL.canParse(value, 'https://a'), value)
  assertEquals(samples('', 'name'), new Array(CLIENTS.length + 1).fill('text'))
})

Deno.test('one request has an empty parameter, where nothing tells its values', () => {
  const values = (name: string) =>
    Array.from({ length: 10 }, (_, turn) => sampleParameter(new Map(), name, turn, 'text'))
  assertEquals(values('name').filter((value) => value === '').length, 1)
  assertEquals(values('page').filter((value) => value === '').length, 0)
})

Deno.test('names of two ends stand for what the imported package works on', () => {
  const ends = (name: string) => {
    const source = `import x from '${name}'`
    const parameters = findParameters(source, new Map(), ['from', 'to', 'steps'])
    return ['from', 'to', 'steps'].map((name) => sampleParameter(parameters, name, 1, 'text'))
  }
  assertEquals(ends('chroma-js'), ['red', 'red', 'text'])
  assertEquals(ends('npm:iconv-lite@0.7'), ['windows-1252', 'windows-1252', 'text'])
  assertEquals(ends('npm:chroma-jsx'), ['1987-06-27T09:27:06Z', '1987-06-27T09:27:06Z', 'text'])
})

Deno.test('values that stand in the source are asked for, by one client each', () => {
  const source = `const a = ctx.get.query('locale') === 'de' ? de : en
    const b = ctx.get.query("by") ?? 'name'; if (ctx.get.query("by") !== "size") return
    const c = ctx.get.query('parts') ?? 10`
  assertEquals(samples(source, 'locale').slice(1, 4), ['en-US', 'de', 'de'])
  assertEquals(samples(source, 'by'), ['text', 'text', 'size', 'name', 'name', 'text'])
  assertEquals(samples(source, 'parts'), ['9', '27', '6', '10', '62', '5'])
})

Deno.test('the probe asks for what no client asks for, but for what stands in the source', () => {
  for (const name of ['page', 'from', 'email', 'url', 'lang']) {
    const all = samples('', name)
    assertEquals(all.lastIndexOf(all.at(-1)!), all.indexOf(all.at(-1)!), name)
  }
})
