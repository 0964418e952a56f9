/** Resources of the host that a process has: the columns of a soak's report. */
export interface HostResources {
  /** Resident memory in KiB. */
  readonly rss: number
  readonly fds: number
  readonly maps: number
  readonly threads: number
}

/** Reads `/proc/PID` (proc(5)). */
export async function readHostResources(pid: number): Promise<HostResources> {
  const [status, maps] = await Promise.all(
    ['status', 'maps'].map((name) => Deno.readTextFile(`/proc/${pid}/${name}`)),
  )
  let fds = 0
  for await (const _ of Deno.readDir(`/proc/${pid}/fd`)) fds++
  const number = (name: string) => Number(new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(status)![1])
  return { rss: number('VmRSS'), fds, maps: maps.split('\n').length - 1, threads: number('Threads') }
}

/** First, last and most of each column, and whether it stayed. */
export interface Trend {
  readonly name: keyof HostResources
  readonly first: number
  readonly last: number
  readonly most: number
  /** Mean of the samples of the second fifth and of the last one: the first fifth is start-up. */
  readonly early: number
  readonly late: number
  readonly constant: boolean
}

/** How far a column may move from {@linkcode Trend.early} to {@linkcode Trend.late}; garbage collection moves memory. */
const SLACK: Readonly<Record<keyof HostResources, (early: number) => number>> = {
  rss: (early) => 8192 + early * 0.05,
  fds: () => 2,
  // The pages of V8's heap are mappings of 256 KiB.
  maps: () => 100,
  threads: () => 1,
}

/** Judges samples taken at even distances. */
export function toTrends(samples: readonly HostResources[]): Trend[] {
  const fifth = Math.max(1, Math.floor(samples.length / 5))
  return (['rss', 'fds', 'maps', 'threads'] as const).map((name) => {
    const values = samples.map((sample) => sample[name])
    const early = mean(values.slice(fifth, 2 * fifth))
    const late = mean(values.slice(-fifth))
    return {
      name,
      first: values[0],
      last: values.at(-1)!,
      most: Math.max(...values),
      early,
      late,
      constant: late - early <= SLACK[name](early),
    }
  })
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
