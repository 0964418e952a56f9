/** The results as a page of Markdown, which a terminal shows well too. */
import { markdownTable } from '../markdown.ts'
import { formatMachine } from '../report.ts'
import { type TenantsReport, toMib, toTenantsFigures } from './results.ts'

/** The page `results/tenants.md`. */
export function toTenantsPage(report: TenantsReport): string {
  const { machine, date, command, loadAverage, crowd, rounds, seconds, rows } = report
  const ms = (value: number) => value.toFixed(2)
  return [
    '# Many tenants, and neighbours that do harm, measured',
    '',
    `${formatMachine(machine)}; ${
      date.slice(0, 10)
    }; \`${command}\`: load generator on the same machine, load average ${loadAverage.toFixed(1)}.`,
    '',
    ...markdownTable(
      [
        ['must hold', 'seen', 'wanted', ''],
        ...toTenantsFigures(report).map(({ name, seen, wanted, reached }) => [
          name,
          seen,
          wanted,
          reached ? 'reached' : 'missed',
        ]),
      ],
      (column) => column === 'seen' || column === 'wanted',
    ),
    '',
    `Memory of the server with all snapshots: ${
      toMib(crowd.first.bytes)
    } when each of ${crowd.tenants} tenants had answered once, then ${
      crowd.points.map(({ bytes }) => toMib(bytes)).join(', ')
    } over ${crowd.requests} requests in ${crowd.seconds.toFixed(0)} s.`,
    '',
    `A tenant that is asked a hundred times a second, alone and beside another, in ${rounds} rounds of ${seconds} s each:`,
    '',
    ...markdownTable(
      [
        ['beside', 'its requests', 'p50 ms', 'p99 ms', 'longest ms', 'p99 to alone', 'wrong'],
        ...rows.map(({ attacker, attacks, p50, p99, most, toAlone, wrong }) => [
          attacker,
          `${attacks}`,
          ms(p50),
          ms(p99),
          ms(most),
          ms(toAlone),
          `${wrong}`,
        ]),
      ],
      (column) => column !== 'beside',
    ),
    '',
  ].join('\n')
}
