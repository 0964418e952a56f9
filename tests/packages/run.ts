/**
 * Asks handlers in every mode and prints one JSON line for each answer. Runs under this folder's `deno.json`:
 *
 * deno run -A --config tests/packages/deno.json tests/packages/run.ts [--modes plain,deno,core] [--batch 10] [name...]
 *
 * Programs are opened a batch at a time, so that memory is bounded.
 */
import { parseArgs } from 'node:util'
import type { Input } from './input.ts'
import { type Answer, listHandlers, type Mode, openSite, readInputs } from './sites.ts'

/** A line of the output. */
export interface Line {
  readonly name: string
  readonly mode: Mode
  readonly input: number
  readonly answer: Answer
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    modes: { type: 'string', default: 'plain,deno,core' },
    batch: { type: 'string', default: '10' },
    warmup: { type: 'string', default: '10' },
  },
})
const names = positionals.length > 0 ? positionals : await listHandlers()
const size = Number(values.batch)
for (let from = 0; from < names.length; from += size) {
  const batch = names.slice(from, from + size)
  const inputs = new Map<string, readonly Input[]>()
  for (const name of batch) inputs.set(name, await readInputs(name))
  for (const mode of values.modes.split(',') as Mode[]) {
    const site = await openSite(mode, batch, { warmup: Number(values.warmup) })
    try {
      for (const name of batch) {
        for (const [index, input] of inputs.get(name)!.entries()) {
          const line: Line = {
            name,
            mode,
            input: index,
            answer: await site.ask(name, input),
          }
          console.log(JSON.stringify(line))
        }
      }
    } finally {
      await site.close()
    }
  }
}
Deno.exit(0)
