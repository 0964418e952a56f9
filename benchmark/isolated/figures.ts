/** What must hold of isolated handlers, computed from one run. */
import type { HogResult } from './probe.ts'
import { inRounds, type Results, type SoakResult, type WayResult, type WayRun } from './results.ts'
import { median } from '../statistics.ts'

/** A figure and what it should be. `value` is undefined when a part of it was not measured. */
export interface Figure {
  readonly name: string
  readonly value: number | undefined
  readonly unit: string
  readonly bound: 'at most' | 'at least' | 'below'
  readonly wanted: number | undefined
  readonly reached: boolean | undefined
  /** How the value came about. */
  readonly from: string
}

/** Microseconds that a machine may add to an answer, besides its own time. */
const HTTP_MICROS = 40
const HOG_RESET_MICROS = 20
const HOG_REQUESTS = 3
const RUNTIME_BOUNDS = [
  { runtime: 'deno', startMs: 60, deltaMb: 4 },
  { runtime: 'core', startMs: 20, deltaMb: 1 },
] as const

/** All figures, in the order of their list. */
export function toMustHold(results: Results): Figure[] {
  return [...ofMachines(results), ...ofRuntimes(results)]
}

function ofMachines({ ways, runs, vm, boot, memory, reload, hog, soak }: Results): Figure[] {
  const at = find(ways)
  const [pair, pairBaseline] = [vm?.twoThreads, vm?.twoThreadsBaselineUs]
  const [plain, hello, busy] = [at('/test', 1), at('/test-isolated', 1), at('/test-isolated', 50)]
  const hono = at('/test-isolated-hono/hello', 50)
  const added = inRounds(runs, (find) => {
    const isolated = find('/test-isolated', 1)
    return subtract(subtract(isolated?.p50, find('/test', 1)?.p50), isolated?.samples?.vm.p50)
  })
  const cpuTimes = inRounds(runs, (find) =>
    ratio(
      subtract(find('/test-isolated-cpu', 1)?.samples?.vm.p50, find('/test-isolated', 1)?.samples?.vm.p50),
      subtract(find('/test-cpu', 1)?.p50, find('/test', 1)?.p50),
    ))
  return [
    baselinesFigure('VM time of /test-isolated', '/test-isolated', { ways, runs }),
    figure('two threads without HTTP', pair, 'req/s', 'at least', pairBaseline && 0.6 * 2e6 / pairBaseline, [
      `mayfly-vm bench, median of turns; wanted 0.6 of 2 / baseline, ${us(pairBaseline)} around that turn;`,
      `here ${share(pair, pairBaseline && 2e6 / pairBaseline)} of it`,
    ]),
    figure('HTTP, 50 connections', busy?.requestsPerSecond, 'req/s', 'at least', pair && 0.3 * pair, [
      `wanted 0.3 of two threads without HTTP; here ${share(busy?.requestsPerSecond, pair)} of it`,
    ], busy?.failures === 0),
    figure(
      'HTTP p50, one connection, besides plain and VM',
      median(added),
      'µs',
      'at most',
      HTTP_MICROS,
      [
        `p50 of /test-isolated less that of /test and less the VM time, within a round (${list(added, 1)});`,
        `medians ${us(hello?.p50)}, ${us(plain?.p50)}, ${us(hello?.vm?.p50)}`,
      ],
      hello?.failures === 0,
    ),
    figure('/test-isolated-cpu, VM time', median(cpuTimes), 'of plain', 'at most', 1.1, [
      'VM time less that of hello, to p50 of /test-cpu less that of /test,',
      `within a round (${list(cpuTimes, 2)})`,
    ]),
    figure('Hono app of three routes, VM time', hono?.vm?.p50, 'µs', 'below', 80, [
      `median under 50 connections, ${
        list(inRounds(runs, baselinesOf('/test-isolated-hono/hello')), 2)
      } baselines;`,
      `at one connection ${us(at('/test-isolated-hono/hello', 1)?.vm?.p50)}`,
    ]),
    figure('fork', scale(vm?.fork.p50, 1e-3), 'ms', 'below', 2, [
      `median of 50, p99 ${us(vm?.fork.p99)}; done when a program is ready, ahead of requests`,
    ]),
    figure(
      'host memory of a hello VM',
      scale(add(memory?.ownKib, memory?.tablesKib, memory?.kvmTablesKib), 1 / 1024),
      'MiB',
      'at most',
      1.5,
      [
        `${memory?.machines ?? '?'} machines to one: private pages ${kib(memory?.ownKib)}, page tables`,
        `${kib(memory?.tablesKib)}, KVM's tables ${kib(memory?.kvmTablesKib)}; the host has`,
        `${kib(memory?.availableKib)} less`,
      ],
    ),
    figure('boot to snapshot, warm-up included', scale(boot?.bootMs, 1e-3), 's', 'below', 1, [
      `median of three; first answer of the server after ${scale(boot?.answerMs, 1e-3)?.toFixed(2) ?? '?'} s`,
    ]),
    figure('changed file served', scale(reload?.worstMs, 1e-3), 's', 'below', 2, [
      `worst of five, ${reload?.failed ?? '?'} requests failed meanwhile`,
    ], reload && reload.failed === 0),
    hogFigure(hog),
    soakFigure(soak),
  ]
}

function find(ways: readonly WayResult[]): (route: string, connections: number) => WayResult | undefined {
  return (route, connections) => ways.find((way) => way.route === route && way.connections === connections)
}

/** The baseline of that moment that copies as many pages as the requests dirtied, in microseconds. */
function baselineOf({ baseline, samples }: WayRun): number | undefined {
  return baseline && samples && baseline.roundTripUs + baseline.pageUs * samples.dirtyPages
}

/** The VM time of a route under 50 connections in baselines of the same moment. */
function baselinesOf(route: string): Parameters<typeof inRounds>[1] {
  return (find) => {
    const run = find(route, 50)
    return run && ratio(run.samples?.vm.p50, baselineOf(run))
  }
}

function baselinesFigure(
  name: string,
  route: string,
  { ways, runs }: Pick<Results, 'ways' | 'runs'>,
): Figure {
  const at = find(ways)
  const [alone, busy] = [at(route, 1), at(route, 50)]
  const baselines = inRounds(runs, baselinesOf(route))
  const baselinesUs = inRounds(runs, (find) => {
    const run = find(route, 50)
    return run && baselineOf(run)
  })
  return figure(name, median(baselines), 'baselines', 'at most', 1.6, [
    `median of run and reset under 50 connections ${us(busy?.vm?.p50)}`,
    `(run ${us(busy?.run?.p50)}, reset ${us(busy?.reset?.p50)}, ${busy?.dirtyPages ?? '?'} pages;`,
    `at one connection ${us(alone?.vm?.p50)}); the baseline with as many pages, before and after`,
    `each run, ${list(baselinesUs, 1)} µs: ${list(baselines, 2)} baselines`,
  ])
}

/** What programs cost under each runtime. */
function ofRuntimes({ ways, runs, coreMemory, starts }: Results): Figure[] {
  return [
    baselinesFigure('VM time of a core hello', '/test-isolated-core', { ways, runs }),
    figure('private memory of a core hello VM', coreMemory?.ownKib, 'KiB', 'below', 256, [
      `${coreMemory?.machines ?? '?'} machines to one; page tables ${kib(coreMemory?.tablesKib)}, KVM's`,
      `tables ${kib(coreMemory?.kvmTablesKib)}`,
    ]),
    ...RUNTIME_BOUNDS.flatMap(({ runtime, startMs, deltaMb }) => {
      const start = starts?.[runtime]
      return [
        figure(`start of a program, ${runtime}`, start?.startMs, 'ms', 'below', startMs, [
          `from its base to its first answer, no warm-up; the base boots in ${
            ms(start?.baseBootMs)
          }, once, and`,
          `takes ${mib(start?.baseBytes)}`,
        ]),
        figure(`delta of a hello, ${runtime}`, scale(start?.warmDeltaBytes, 1e-6), 'MB', 'below', deltaMb, [
          `after its warm-up; ${mib(start?.coldDeltaBytes)} without; with a machine one more program takes`,
          `${mib(start?.programBytes)}, so a GiB holds ${
            start === undefined ? '?' : Math.floor(((1 << 30) - start.baseBytes) / start.programBytes)
          }`,
        ]),
      ]
    }),
  ]
}

/** Hellos after a hog until one is reset quickly; the worst of all trials. */
function hogFigure(hog: HogResult | undefined): Figure {
  const needed = hog?.afterUs.map((resets) => resets.findIndex((reset) => reset < HOG_RESET_MICROS) + 1)
  // 0 stands for "never within the trial".
  const value = needed?.includes(0) ? Infinity : needed && Math.max(...needed)
  return figure('hello after a memory hog', value, 'requests', 'at most', HOG_REQUESTS, [
    `until a reset below ${HOG_RESET_MICROS} µs, worst of ${needed?.length ?? '?'} hogs; usual reset`,
    `${us(hog?.usualUs)}, after the first hog ${
      hog?.afterUs[0]?.map((n) => n.toFixed(0)).join(', ') ?? '?'
    } µs`,
  ])
}

/** Faults of 100 000 requests: wrong answers, lost ones, and everything that grew. */
function soakFigure(soak: SoakResult | undefined): Figure {
  const grown = soak?.trends.filter(({ constant }) => !constant).map(({ name }) => name)
  const value = soak && grown && soak.wrong + soak.lost + grown.length
  return figure('100 000 requests', value, 'faults', 'at most', 0, [
    `${soak?.requests ?? '?'} requests: ${soak?.wrong ?? '?'} wrong, ${soak?.lost ?? '?'} lost;`,
    `grown: ${grown === undefined ? '?' : grown.length === 0 ? 'nothing' : grown.join(', ')}`,
  ])
}

function figure(
  name: string,
  value: number | undefined,
  unit: string,
  bound: Figure['bound'],
  wanted: number | undefined,
  from: readonly string[],
  also = true,
): Figure {
  const known = value !== undefined && wanted !== undefined
  const within = known &&
    (bound === 'at least' ? value >= wanted : bound === 'below' ? value < wanted : value <= wanted)
  return {
    name,
    value,
    unit,
    bound,
    wanted,
    reached: known ? within && also : undefined,
    from: from.join(' '),
  }
}

/** Undefined when any is. */
function add(...values: readonly (number | undefined)[]): number | undefined {
  let sum = 0
  for (const value of values) {
    if (value === undefined) return undefined
    sum += value
  }
  return sum
}

function scale(value: number | undefined, by: number): number | undefined {
  return value === undefined ? undefined : value * by
}

function ratio(value: number | undefined, to: number | undefined): number | undefined {
  return value === undefined || to === undefined ? undefined : value / to
}

/** Undefined when either is. */
function subtract(value: number | undefined, less: number | undefined): number | undefined {
  return value === undefined || less === undefined ? undefined : value - less
}

function list(values: readonly number[], digits: number): string {
  return values.length === 0 ? '?' : values.map((value) => value.toFixed(digits)).join(', ')
}

function share(value: number | undefined, of: number | undefined): string {
  return ratio(value, of)?.toFixed(2) ?? '?'
}

function us(value: number | undefined): string {
  return value === undefined ? '?' : `${value.toFixed(1)} µs`
}

function kib(value: number | undefined): string {
  return value === undefined ? '?' : `${value.toFixed(0)} KiB`
}

function mib(bytes: number | undefined): string {
  return bytes === undefined ? '?' : `${(bytes / (1 << 20)).toFixed(2)} MiB`
}

function ms(value: number | undefined): string {
  return value === undefined ? '?' : `${value.toFixed(0)} ms`
}
