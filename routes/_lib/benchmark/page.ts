/** The reports as the benchmark page and the home page show them. */
import { drawCharts, duration, group } from './chart.ts'
import {
  type Found,
  type IsolatedReport,
  type NeighboursReport,
  type PackagesReport,
  type ProgramsReport,
  readReports,
  type Report,
  type RoutesReport,
  type SandboxReport,
  type SoakReport,
} from './reports.ts'

const MIB = 1 << 20

/** Every kind of run; one that was never made is undefined. */
export async function readPage(root: URL) {
  const reports = await readReports(root)
  const { routes, isolated, sandbox, programs, soak, neighbours, packages } = reports
  return {
    files: Object.values(reports).map(({ name }) => name).join(', '),
    routes: routes && { ...describe(routes), ...toRoutes(routes.report) },
    isolated: isolated && { ...describe(isolated), ...toIsolated(isolated.report) },
    sandbox: sandbox && { ...describe(sandbox), ...toSandbox(sandbox.report) },
    programs: programs && { ...describe(programs), ...toPrograms(programs.report) },
    soak: soak && { ...describe(soak), ...toSoak(soak.report) },
    neighbours: neighbours && { ...describe(neighbours), ...toNeighbours(neighbours.report) },
    packages: packages && { ...describe(packages), ...toPackages(packages.report) },
    isEmpty: routes === undefined && isolated === undefined,
  }
}

/** The ways to run a handler that the home page compares; undefined when that was never measured. */
export async function readSummary(root: URL) {
  const { routes, isolated } = await readReports(root)
  const ratio = routes?.report.rows.find(({ route, server }) => route === '/test' && server === 'mayfly')
    ?.toBare?.toFixed(2)
  return { ratio, ways: isolated && compareWays(isolated.report) }
}

function describe({ name, report }: Found<Report>) {
  const { cpu, cores, memoryGiB, system, deno } = report.machine
  return {
    name,
    machine: `${cpu}, ${cores} cores, ${memoryGiB} GiB, ${system}, Deno ${deno}`,
    date: report.date.slice(0, 10),
  }
}

function toRoutes(report: RoutesReport) {
  return {
    rounds: report.rounds,
    duration: report.duration,
    charts: drawCharts(
      report.rows.map(({ route, server, requestsPerSecond }) => ({
        group: route,
        label: `${group(requestsPerSecond)} ${server}`,
        value: requestsPerSecond,
        isOwn: server.startsWith('mayfly'),
      })),
      'linear',
      group,
    ),
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

/** The ways whose bars are compared, by their names in the report. */
const WAYS: Readonly<Record<string, string>> = {
  'plain handler': 'not isolated',
  'isolated': 'isolated',
  'core': 'isolated, core',
  'fresh Deno Worker': 'a fresh Worker',
  'fresh deno process': 'a fresh process',
}

function compareWays({ ways }: IsolatedReport) {
  return Object.entries(WAYS).flatMap(([name, label]) => {
    const own = ways.filter((way) => way.name === name)
    if (own.length === 0) return []
    const p50 = Math.min(...own.map((way) => way.p50))
    const rate = Math.max(...own.map((way) => way.requestsPerSecond))
    return [{ label, p50, shown: duration(p50), rate: group(rate), isOwn: /^(?:isolated|core)/.test(name) }]
  })
}

function toIsolated(report: IsolatedReport) {
  return {
    rounds: report.rounds,
    seconds: report.seconds,
    charts: drawCharts(
      compareWays(report).map(({ label, p50, shown, isOwn }) => ({
        group: label,
        label: shown,
        value: p50,
        isOwn,
      })),
      'logarithmic',
      duration,
    ),
    rows: report.ways.map(({ name, connections, requestsPerSecond, p50, p99, run, reset, dirtyPages }) => ({
      name,
      connections,
      requestsPerSecond: group(requestsPerSecond),
      p50: duration(p50),
      p99: duration(p99),
      run: run === undefined ? '' : duration(run.p50),
      reset: reset === undefined ? '' : duration(reset.p50),
      pages: dirtyPages ?? '',
    })),
  }
}

function toSandbox({ seconds, rounds, rows }: SandboxReport) {
  return {
    seconds,
    rounds,
    rows: rows.map(({ name, through, connections, requestsPerSecond, p50, p99, residentBytes }) => ({
      name,
      through: through === 'http' ? 'HTTP' : 'a call',
      connections,
      requestsPerSecond: group(requestsPerSecond),
      p50: duration(p50),
      p99: duration(p99),
      memory: `${group(residentBytes / MIB)} MiB`,
    })),
  }
}

function toPrograms({ programs, requests, wrong, idle }: ProgramsReport) {
  return { programs, requests: group(requests), wrong, memory: `${group(idle.bytes / MIB)} MiB` }
}

function toSoak({ requests, hostile, seconds, wrong, lost, trends }: SoakReport) {
  return {
    requests: group(requests),
    hostile: group(hostile),
    minutes: (seconds / 60).toFixed(1),
    wrong,
    lost,
    isConstant: trends.every(({ constant }) => constant),
  }
}

function toNeighbours({ connections, rows }: NeighboursReport) {
  return {
    connections,
    rows: rows.map(({ attacker, p50, p99, toAlone }) => ({
      attacker,
      p50: duration(p50 * 1000),
      p99: duration(p99 * 1000),
      toAlone: toAlone.toFixed(1),
    })),
  }
}

function toPackages({ packages, figures }: PackagesReport) {
  return {
    count: packages.length,
    figures: figures.map(({ name, seen, atMost }) => ({
      name,
      seen: seen.toFixed(2),
      atMost: atMost.toFixed(2),
      reached: seen <= atMost,
    })),
  }
}
