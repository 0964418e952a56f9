/** What one `deno task bench --tenants` found, and whether what must hold of tenants did. */
import type { Machine } from '../machine.ts'
import { BREATH_BYTES, type ProgramsMemory } from '../programs/memory.ts'
import type { Row } from '../neighbours/rows.ts'

/** What all may take, and how long others may keep a tenant waiting, to its own p99. */
export const LIMIT_BYTES = 2.5 * 2 ** 30
export const MOST_TO_ALONE = 2

/** Requests to all tenants once, and to the busy ones again and again. */
export interface CrowdRun {
  readonly tenants: number
  readonly busy: number
  readonly requests: number
  readonly seconds: number
  /** Requests without an answer, or with a wrong one. */
  readonly failures: number
  /** When each tenant had been asked once, and then at even distances. */
  readonly first: ProgramsMemory
  readonly points: readonly ProgramsMemory[]
}

/** A thing that must hold. */
export interface TenantsFigure {
  readonly name: string
  readonly seen: string
  readonly wanted: string
  readonly reached: boolean
}

/** What lies in results/tenants.json. */
export interface TenantsReport {
  readonly machine: Machine
  readonly date: string
  readonly command: string
  /** Of the machine in a minute, the median of the rounds: what else it did tells in it. */
  readonly loadAverage: number
  readonly crowd: CrowdRun
  readonly rounds: number
  /** Of one watch. */
  readonly seconds: number
  readonly rows: readonly Row[]
}

/** What must hold, of the crowd and beside each tenant that does harm. */
export function toTenantsFigures({ crowd, rows }: Pick<TenantsReport, 'crowd' | 'rows'>): TenantsFigure[] {
  const { first, points, failures } = crowd
  const most = Math.max(first.bytes, ...points.map(({ bytes }) => bytes))
  // By the first half of the points every busy tenant has its snapshot.
  const half = points[(points.length - 1) >> 1]!
  const growth = points.at(-1)!.bytes - half.bytes
  return [
    {
      name: `memory of ${crowd.tenants} tenants, ${crowd.busy} of them busy`,
      seen: toMib(most),
      wanted: `at most ${toMib(LIMIT_BYTES)}`,
      reached: most <= LIMIT_BYTES,
    },
    {
      name: `its growth over the second half of ${crowd.requests} requests`,
      seen: toMib(growth),
      wanted: `at most ${toMib(BREATH_BYTES)}`,
      reached: growth <= BREATH_BYTES,
    },
    { name: 'wrong or missing answers', seen: `${failures}`, wanted: '0', reached: failures === 0 },
    ...rows.slice(1).map(({ attacker, toAlone, wrong }) => ({
      name: `p99 beside ${attacker}, to that alone`,
      seen: toAlone.toFixed(2) + (wrong === 0 ? '' : `, ${wrong} wrong`),
      wanted: `at most ${MOST_TO_ALONE.toFixed(2)}`,
      reached: toAlone <= MOST_TO_ALONE && wrong === 0,
    })),
  ]
}

/** Bytes as they are read best. */
export function toMib(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`
}
