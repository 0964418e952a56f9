/** `deno task bench --template`: compiling a template of 1 MB, and the memory that streaming 100 000 rows takes. */
import { fromFileUrl } from '@std/path'
import { Engine } from '../src/dve/engine.ts'
import { mebibytes, memoryAfterCollection, runAlone } from './measure.ts'

const ROW =
  '<tr>{{#if row.id > 5 && row.name}}<td class="{{ row.kind ?? "plain" }}">{{ row.id }}</td>{{else}}-{{/if}}' +
  '<td>{{ row.name }}</td>{{#each row.tags as tag}}{{ tag }}{{#if !@last}}, {{/if}}{{/each}}</tr>\n'

/** A template of just under a million characters, with every kind of tag that costs something to compile. */
export function makeTemplate(): string {
  return ROW.repeat(Math.floor(1_000_000 / ROW.length))
}

/** Runs both measurements in processes of their own. */
export async function main(): Promise<void> {
  await runAlone(fromFileUrl(import.meta.url), ['compile'])
  await runAlone(fromFileUrl(import.meta.url), ['stream'])
}

function measureCompile(): void {
  const source = makeTemplate()
  const row = { id: 7, name: 'Ada & Co.', tags: ['a', 'b'] }
  const engine = new Engine({ maxTemplateSize: source.length })
  const start = performance.now()
  const template = engine.compile(source)
  const compiled = performance.now()
  const page = template.render({ row })
  const rendered = performance.now()
  if (!page.startsWith('<tr><td class="plain">7</td><td>Ada &amp; Co.</td>a, b</tr>')) {
    throw new Error('Cannot measure: wrong page')
  }
  const milliseconds = compiled - start
  console.log(
    `\ncompile ${source.length.toLocaleString('en')} characters   ${milliseconds.toFixed(0)} ms   ${
      milliseconds < 1000 ? 'reached' : 'MISSED (under 1000)'
    }`,
  )
  console.log(`first render of it           ${(rendered - compiled).toFixed(0)} ms`)
}

async function measureStream(): Promise<void> {
  const engine = new Engine()
  const template = engine.compile(
    '<table>{{#each rows as row}}<tr><td>{{ row.id }}</td><td>{{ row.name }}</td></tr>\n{{/each}}</table>',
  )
  const peaks: number[] = []
  for (const count of [1000, 10_000, 100_000]) {
    const rows = Array.from({ length: count }, (_, id) => ({ id, name: `<row ${id}>` }))
    const before = memoryAfterCollection()
    let peak = 0
    let bytes = 0
    let chunks = 0
    const start = performance.now()
    for await (const chunk of template.stream({ rows })) {
      bytes += chunk.length
      if (chunks++ % 8 !== 0) continue
      const now = memoryAfterCollection()
      peak = Math.max(peak, now.heapUsed + now.external - before.heapUsed - before.external)
    }
    peaks.push(peak)
    console.log(
      `stream ${count.toLocaleString('en').padStart(7)} rows   ${
        mebibytes(bytes).padStart(9)
      } in ${chunks} chunks, ${
        (performance.now() - start).toFixed(0)
      } ms with collections   most beyond the data: ${mebibytes(peak)}`,
    )
  }
  const grows = peaks[2] > peaks[0] + 2 ** 20
  console.log(
    `memory of a stream           ${
      grows ? 'MISSED: it grows with the page' : 'reached: it does not grow with the page'
    }`,
  )
}

if (import.meta.main) {
  if (Deno.args[0] === 'compile') measureCompile()
  else if (Deno.args[0] === 'stream') await measureStream()
  else await main()
}
