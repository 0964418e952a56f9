// Prints how much memory a reload costs: deno run -A --v8-flags=--expose-gc tests/router/reload_memory.ts [COUNT]
// Deno keeps every module that it ever loaded; what grows here is that, as hot reload's own structures do not.
import { toFileUrl } from '@std/path'
import { reloadCycle } from './reload_cycle.ts'
import { tempSite } from './temp_site.ts'

const count = Number(Deno.args[0] ?? 1000)
const collect = (globalThis as { gc?: () => void }).gc ?? (() => {})
const samples: { heap: number; rss: number }[] = []
const { first, last, reloads } = await reloadCycle(count, () => {
  collect()
  const { heapUsed, rss } = Deno.memoryUsage()
  samples.push({ heap: heapUsed, rss })
  console.log(`${String(samples.length * 10).padStart(3)} %  heap ${kib(heapUsed)}  rss ${kib(rss)}`)
})
const steps = count * 0.9
const [start, end] = [samples[0], samples.at(-1)!]
console.log(
  `${count} saves of a module that two routes import (4 modules evaluated each), ${reloads} reloads`,
)
console.log(
  `growth per save: heap ${kib((end.heap - start.heap) / steps)}, rss ${kib((end.rss - start.rss) / steps)}`,
)
console.log(`own structures after the first tenth ${JSON.stringify(first)}`)
console.log(`own structures at the end            ${JSON.stringify(last)}`)

// What Deno keeps by itself: the same four modules imported under new URLs, without hot reload.
await using site = await tempSite({
  'text.ts': `export const text = 0`,
  'helper.ts': `export const text = 0`,
  'a.ts': `export const GET = () => 0`,
  'b.ts': `export const GET = () => 0`,
})
const bare: { heap: number; rss: number }[] = []
for (let index = 1; index <= count; index++) {
  for (const name of ['text', 'helper', 'a', 'b']) {
    await import(`${toFileUrl(`${site.root}/${name}.ts`).href}?bare=${index}`)
  }
  if (index !== count / 10 && index !== count) continue
  collect()
  const { heapUsed, rss } = Deno.memoryUsage()
  bare.push({ heap: heapUsed, rss })
}
const [from, to] = bare
console.log(
  `bare import() of as many modules: heap ${kib((to.heap - from.heap) / steps)}, rss ${
    kib((to.rss - from.rss) / steps)
  }`,
)

function kib(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KiB`
}
