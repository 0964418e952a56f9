/** The reports in benchmark/results: the newest whole run of each kind. */

/** What every report says of itself. */
export interface Report {
  readonly machine: Readonly<
    Record<'cpu' | 'system' | 'deno', string> & Record<'cores' | 'memoryGiB', number>
  >
  readonly date: string
}

/** `deno task bench`; rates are requests a second, times milliseconds, all medians of the rounds. */
export interface RoutesReport extends Report {
  readonly command: string
  /** Seconds of a run. */
  readonly duration: number
  readonly rounds: number
  readonly rows: readonly {
    readonly route: string
    readonly server: string
    readonly requestsPerSecond: number
    readonly p50: number
    readonly p99: number
    /** Ratio to the bare server on the same route. */
    readonly toBare?: number
  }[]
  readonly figures: readonly {
    readonly name: string
    readonly value?: number
    readonly atLeast: number
    readonly reached?: boolean
  }[]
}

/** `deno task bench --isolated`; times are microseconds. */
export interface IsolatedReport extends Report {
  readonly command: string
  readonly seconds: number
  readonly rounds: number
  readonly ways: readonly {
    readonly name: string
    readonly connections: number
    readonly requestsPerSecond: number
    readonly p50: number
    readonly p99: number
    readonly run?: { readonly p50: number }
    readonly reset?: { readonly p50: number }
    readonly dirtyPages?: number
  }[]
}

/** `deno task bench --sandbox`; times are microseconds. */
export interface SandboxReport extends Report {
  readonly command: string
  readonly seconds: number
  readonly rounds: number
  readonly rows: readonly {
    readonly name: string
    readonly through: string
    readonly connections: number
    readonly requestsPerSecond: number
    readonly p50: number
    readonly p99: number
    readonly residentBytes: number
  }[]
}

/** `benchmark/programs.ts`. */
export interface ProgramsReport extends Report {
  readonly programs: number
  readonly requests: number
  readonly wrong: number
  readonly idle: { readonly bytes: number }
}

/** `deno task soak`. */
export interface SoakReport extends Report {
  readonly requests: number
  readonly hostile: number
  readonly seconds: number
  readonly wrong: number
  readonly lost: number
  readonly trends: readonly { readonly constant: boolean }[]
}

/** `benchmark/neighbours.ts`; times are milliseconds. */
export interface NeighboursReport extends Report {
  readonly connections: number
  readonly rows: readonly {
    readonly attacker: string
    readonly p50: number
    readonly p99: number
    readonly toAlone: number
  }[]
}

/** `deno task bench --packages`. */
export interface PackagesReport extends Report {
  readonly packages: readonly unknown[]
  readonly figures: readonly { readonly name: string; readonly seen: number; readonly atMost: number }[]
}

/** What tells a report of a kind from others in the folder. */
const KINDS = {
  routes: (report: object) => 'rows' in report && 'figures' in report && 'duration' in report,
  sandbox: (report: object) => 'rows' in report && 'vmRuns' in report,
  isolated: (report: object) => 'ways' in report,
  programs: (report: object) => 'programs' in report && 'idle' in report,
  soak: (report: object) => 'hostile' in report && 'trends' in report,
  neighbours: (report: object) => 'rows' in report && 'connections' in report,
  packages: (report: object) => 'packages' in report && 'figures' in report,
} as const

interface Reports {
  readonly routes: RoutesReport
  readonly sandbox: SandboxReport
  readonly isolated: IsolatedReport
  readonly programs: ProgramsReport
  readonly soak: SoakReport
  readonly neighbours: NeighboursReport
  readonly packages: PackagesReport
}

/** A report and the name of its file. */
export interface Found<T> {
  readonly name: string
  readonly report: T
}

/** The newest whole run of each kind; a kind that was never run whole is missing. */
export async function readReports(root: URL): Promise<{ [Kind in keyof Reports]?: Found<Reports[Kind]> }> {
  const folder = new URL('benchmark/results/', root)
  const newest: Record<string, Found<Report>> = {}
  for (const name of await namesIn(folder)) {
    const report = JSON.parse(await Deno.readTextFile(new URL(name, folder)))
    if (!isWhole(report, name)) continue
    const kind = Object.entries(KINDS).find(([, isOf]) => isOf(report))?.[0]
    if (kind === undefined || (kind in newest && newest[kind].report.date >= report.date)) continue
    newest[kind] = { name, report }
  }
  return newest as { [Kind in keyof Reports]?: Found<Reports[Kind]> }
}

/** A run of everything, at full length; what ran in parts or quickly shows that all is in order and no more. */
function isWhole({ date, command = '' }: { date?: string; command?: string }, name: string): boolean {
  return date !== undefined && !/--(?:quick|only)\b/.test(command) && !/^(?:quick|part)\./.test(name)
}

async function namesIn(folder: URL): Promise<string[]> {
  const names: string[] = []
  try {
    for await (const entry of Deno.readDir(folder)) if (entry.name.endsWith('.json')) names.push(entry.name)
  } catch (error) {
    // The benchmark makes the folder, so a copy without any run has none.
    if (!(error instanceof Deno.errors.NotFound)) throw error
  }
  return names.sort()
}
