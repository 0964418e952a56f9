/** What a run with many programs found. */
import type { Machine } from '../machine.ts'
import type { ProgramsMemory } from './memory.ts'

/** How the programs of one runtime came to be; medians. */
export interface ProgramsStart {
  readonly runtime: string
  readonly programs: number
  readonly baseBootMs: number
  readonly baseBytes: number
  /** From the base until the modules had run. */
  readonly loadMs: number
  /** Warm-up, snapshot and trial included. */
  readonly bootMs: number
  /** What a program differs in from its base. */
  readonly deltaBytes: number
}

/** What lies in results/programs.json. */
export interface ProgramsReport {
  readonly machine: Machine
  readonly date: string
  readonly programs: number
  readonly requests: number
  /** Warm-up requests of each program. */
  readonly warmup: number
  readonly seconds: number
  /** Answers that were none, or not the program's own. */
  readonly wrong: number
  readonly starts: readonly ProgramsStart[]
  /** Before the first boot, after the last, and on the way through the requests. */
  readonly before: ProgramsMemory
  readonly idle: ProgramsMemory
  readonly points: readonly ProgramsMemory[]
  /** What all may take. */
  readonly limitBytes: number
  readonly constant: boolean
  readonly good: boolean
}

/** The report as text. */
export function toProgramsMarkdown(report: ProgramsReport): string {
  const { machine, programs, requests, warmup, seconds, wrong, before, idle, points } = report
  const last = points.at(-1)!
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`
  const starts = report.starts.map((start) =>
    row([
      start.runtime,
      String(start.programs),
      `${start.baseBootMs.toFixed(0)} ms`,
      `${mib(start.baseBytes)} MiB`,
      `${start.loadMs.toFixed(1)} ms`,
      `${start.bootMs.toFixed(0)} ms`,
      `${mib(start.deltaBytes, 2)} MiB`,
    ])
  )
  return `# Many programs at once: ${report.good ? 'passed' : 'FAILED'}

${machine.cpu}, ${machine.cores} cores, ${machine.system}, Deno ${machine.deno}; ${report.date}. Medians; ${warmup} warm-up requests.

| runtime | programs | boot of the base | base | a program's load | its start, warm-up included | its delta |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
${starts.join('')}
${programs} programs, booted and idle: **${mib(idle.bytes)} MiB in all**, of which ${
    mib(idle.snapshotBytes)
  } are snapshots and ${
    mib(before.bytes)
  } were there before. After ${requests} requests spread over them, in ${seconds.toFixed(0)} s: **${
    mib(last.bytes)
  } MiB** (at most ${mib(report.limitBytes)} wanted; the machine has ${
    mib(before.availableBytes - last.availableBytes)
  } MiB less), ${report.constant ? 'constant' : 'GROWING'}. **${wrong} wrong.**

On the way: ${points.map(({ bytes }) => mib(bytes)).join(', ')} MiB.
`
}

function mib(bytes: number, digits = 0): string {
  return (bytes / (1 << 20)).toFixed(digits)
}
