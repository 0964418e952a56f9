/** What `deno task bench` wrote into benchmark/results, ready for a page. */

/** One server on one route, medians of all rounds. */
interface Row {
  readonly route: string
  readonly server: string
  readonly requestsPerSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Ratio to the bare server on the same route. */
  readonly toBare?: number
}

interface Figure {
  readonly name: string
  readonly value?: number
  readonly atLeast: number
  readonly reached?: boolean
}

interface Report {
  readonly machine: Readonly<
    Record<'cpu' | 'system' | 'deno', string> & Record<'cores' | 'memoryGiB', number>
  >
  readonly date: string
  readonly duration: number
  readonly rounds: number
  readonly rows: readonly Row[]
  readonly figures: readonly Figure[]
}

/** A bar of the chart, in its coordinates. */
interface Bar {
  readonly y: number
  readonly width: number
  /** Mayfly's own, not a peer's. */
  readonly isOwn: boolean
  readonly label: string
  readonly labelX: number
}

/** Seconds of a run that counts as a measurement; `--quick` runs are shorter. */
const FULL_SECONDS = 10
const LABELS_WIDTH = 190
const BARS_WIDTH = 470
const BAR_HEIGHT = 20
const GROUP_GAP = 18

/** A report as the benchmark page shows it, or undefined when there is none. */
export async function readReport(root: URL) {
  const found = await findNewest(root)
  if (found === undefined) return undefined
  const { report, name } = found
  const { cpu, cores, memoryGiB, system, deno } = report.machine
  return {
    name,
    machine: `${cpu}, ${cores} cores, ${memoryGiB} GiB, ${system}, Deno ${deno}`,
    date: report.date.slice(0, 10),
    duration: report.duration,
    isQuick: report.duration < FULL_SECONDS,
    rounds: report.rounds,
    chart: drawBars(report.rows),
    rows: report.rows.map((row) => ({
      ...row,
      requestsPerSecond: group(row.requestsPerSecond),
      toBare: row.toBare?.toFixed(3) ?? '',
    })),
    figures: report.figures.map(({ name, value, atLeast, reached }) => ({
      name,
      value: value?.toFixed(3) ?? 'not measured',
      atLeast: atLeast.toFixed(2),
      reached,
      isMeasured: reached !== undefined,
    })),
  }
}

/** The figure of the home page: JSON to bare `Deno.serve`, or undefined when it was not measured. */
export async function readSummary(root: URL): Promise<{ ratio: string } | undefined> {
  const found = await findNewest(root)
  if (found === undefined || found.report.duration < FULL_SECONDS) return undefined
  const row = found.report.rows.find(({ route, server }) => route === '/test' && server === 'mayfly')
  return row?.toBare === undefined ? undefined : { ratio: row.toBare.toFixed(2) }
}

async function findNewest(root: URL): Promise<{ report: Report; name: string } | undefined> {
  const folder = new URL('benchmark/results/', root)
  let newest: { report: Report; name: string } | undefined
  for (const name of await namesIn(folder)) {
    const report = JSON.parse(await Deno.readTextFile(new URL(name, folder))) as Report
    if (!Array.isArray(report.rows) || !Array.isArray(report.figures)) continue
    if (newest === undefined || order(report) > order(newest.report)) newest = { report, name }
  }
  return newest
}

/** Full runs before quick ones, then by date. */
function order({ duration, date }: Report): string {
  return `${duration < FULL_SECONDS ? 0 : 1} ${date}`
}

async function namesIn(folder: URL): Promise<string[]> {
  const names: string[] = []
  try {
    for await (const entry of Deno.readDir(folder)) if (entry.name.endsWith('.json')) names.push(entry.name)
  } catch (error) {
    // Reports are made by whoever runs the benchmark; a copy without any has no folder for them.
    if (!(error instanceof Deno.errors.NotFound)) throw error
  }
  return names.sort()
}

function drawBars(rows: readonly Row[]) {
  const most = Math.max(1, ...rows.map((row) => row.requestsPerSecond))
  const groups: { route: string; y: number; bars: Bar[] }[] = []
  let y = 0
  for (const route of new Set(rows.map((row) => row.route))) {
    const bars: Bar[] = []
    const top = y
    for (const row of rows.filter((row) => row.route === route)) {
      const width = Math.max(1, Math.round(row.requestsPerSecond / most * BARS_WIDTH))
      const label = `${group(row.requestsPerSecond)} ${row.server}`
      bars.push({ y, width, isOwn: row.server.startsWith('mayfly'), label, labelX: LABELS_WIDTH + width + 8 })
      y += BAR_HEIGHT
    }
    groups.push({ route, y: top + 14, bars })
    y += GROUP_GAP
  }
  return { groups, height: Math.max(y - GROUP_GAP, 1), x: LABELS_WIDTH }
}

function group(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',')
}
