/** `console.table`. */
import { inspect } from './inspect.ts'

const INDEX = '(idx)'
const VALUES = 'Values'

/** Data as a table; undefined for what has no rows. */
export function tableOf(data: unknown, columns?: readonly string[]): string | undefined {
  if (data === null || typeof data !== 'object') return undefined
  const rows = Object.entries(data).map(([key, value]) => toRow(key, value, columns))
  const names = [...new Set(rows.flatMap((row) => [...row.keys()]))].filter((name) => name !== VALUES)
  if (rows.some((row) => row.has(VALUES))) names.push(VALUES)
  const lines = [names, ...rows.map((row) => names.map((name) => row.get(name) ?? ''))]
  const widths = names.map((_, column) => Math.max(...lines.map((line) => line[column].length)))
  const draw = (line: readonly string[]) =>
    `│ ${line.map((cell, at) => cell.padEnd(widths[at])).join(' │ ')} │`
  const rule = (left: string, middle: string, right: string) =>
    left + widths.map((width) => '─'.repeat(width + 2)).join(middle) + right
  return [
    rule('┌', '┬', '┐'),
    draw(names),
    rule('├', '┼', '┤'),
    ...lines.slice(1).map(draw),
    rule('└', '┴', '┘'),
  ].join('\n')
}

function toRow(key: string, value: unknown, columns: readonly string[] | undefined): Map<string, string> {
  const row = new Map([[INDEX, key]])
  if (value === null || typeof value !== 'object') return row.set(VALUES, inspect(value))
  for (const [name, member] of Object.entries(value)) {
    if (columns === undefined || columns.includes(name)) row.set(name, inspect(member, 1))
  }
  return row
}
