/**
 * The page of the docs about npm packages, made of `known.ts` and of what `deno task bench --packages` wrote:
 *
 * deno run -A tests/packages/document.ts
 */
import { micros, type PackagesReport } from '../../benchmark/packages/report.ts'
import { describePackages, toPackagesTable } from '../../benchmark/packages/report.ts'
import { KNOWN_DIFFERENCES, type KnownDifference } from './known.ts'
import { listHandlers } from './sites.ts'

/** The page. */
export const DOCUMENT = new URL('../../src/isolate/PACKAGES.md', import.meta.url)
const RESULTS = new URL('../../benchmark/results/packages.json', import.meta.url)
const ROOT_CONFIG = new URL('../../deno.json', import.meta.url).pathname
const RUNTIMES = ['deno', 'core'] as const

/** The text of the page. */
export async function writePackages(): Promise<string> {
  const names = await listHandlers()
  const counts = RUNTIMES.map((runtime) => {
    const other = new Set(
      KNOWN_DIFFERENCES.filter((line) => line.runtime === runtime).map(({ name }) => name),
    )
    return `${names.length - other.size} of them are under \`${runtime}\``
  })
  return `# npm packages

${names.length} packages are asked in every release whether they answer isolated as they do in the host: each has a
handler in [tests/packages](../../tests/packages/README.md) that does some real work, and several requests
with queries, JSON, forms, bytes and text of other languages. Status, headers and body must be equal for all
requests: ${counts.join(', ')}. What the others answer instead, and why, is in the [tables](#what-differs).

${names.map((name) => `\`${name}\``).join(' ')}

<!-- Made by: deno run -A tests/packages/document.ts -->

## Speed

${await writeSpeed()}
## What differs

An input is one of the requests of the package's handler, counted from 0. Lines without one hold for all.

${RUNTIMES.map(writeTable).join('\n')}`
}

function writeTable(runtime: (typeof RUNTIMES)[number]): string {
  const lines = KNOWN_DIFFERENCES.filter((line) => line.runtime === runtime)
  if (lines.length === 0) return `Under \`${runtime}\` nothing differs.\n`
  return `### Under ${runtime}

| package | input | status | what is said | why |
| --- | --- | --- | --- | --- |
${lines.map(writeLine).join('')}`
}

function writeLine({ name, inputs, status, message, reason }: KnownDifference): string {
  return `| ${name} | ${inputs?.join(', ') ?? ''} | ${status} | ${
    message.replaceAll('|', '\\|')
  } | ${reason} |\n`
}

async function writeSpeed(): Promise<string> {
  const report = await readReport()
  if (report === null) return 'Not measured yet: `deno task bench --packages` does it.\n'
  const total = report.packages.reduce((sum, { plainUs }) => sum + plainUs, 0)
  return `Machine's time to the time of the same handler in a warm plain process, for one pass over its inputs (all together
${micros(total)} plain). The first ratio is with the inputs as \`warmup\`, the second with none given.
[How it is measured](../../benchmark/README.md#npm-packages). ${describePackages(report)}.

![Machine's time to the plain handler's time, by package](../../benchmark/results/packages.svg)

${toPackagesTable(report)}`
}

async function readReport(): Promise<PackagesReport | null> {
  try {
    return JSON.parse(await Deno.readTextFile(RESULTS))
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null
    throw error
  }
}

/** The text as `deno fmt` leaves it. */
export async function formatPackages(): Promise<string> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ['fmt', '--config', ROOT_CONFIG, '--ext', 'md', '-'],
    stdin: 'piped',
    stdout: 'piped',
    stderr: 'inherit',
  }).spawn()
  const writer = child.stdin.getWriter()
  await writer.write(new TextEncoder().encode(await writePackages()))
  await writer.close()
  const { success, stdout } = await child.output()
  if (!success) throw new Error('Cannot write the page about npm packages: deno fmt failed')
  return new TextDecoder().decode(stdout)
}

if (import.meta.main) await Deno.writeTextFile(DOCUMENT, await formatPackages())
