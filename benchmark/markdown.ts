/** Tables of Markdown as `deno fmt` writes them, and their place in a page. */

/** The head, then the rows. */
export type Table = readonly (readonly string[])[]

/** The lines of a table; `isRight` says by a column's head whether it is set to the right. */
export function markdownTable(table: Table, isRight: (column: string) => boolean): string[] {
  const [head, ...rows] = table
  const widths = head.map((_, column) => Math.max(3, ...table.map((row) => row[column].length)))
  const line = (cells: readonly string[]) =>
    `| ${
      cells.map((cell, column) =>
        isRight(head[column]) ? cell.padStart(widths[column]) : cell.padEnd(widths[column])
      ).join(' | ')
    } |`
  const rule = `| ${
    widths.map((width, column) => isRight(head[column]) ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width))
      .join(' | ')
  } |`
  return [line(head), rule, ...rows.map(line)]
}

/** `text` with `table` between the markers of `command`. Throws when it has no such markers. */
export function replaceTable(text: string, command: string, table: string): string {
  const [begin, end] = [`<!-- begin: ${command} -->`, `<!-- end: ${command} -->`]
  const from = text.indexOf(begin)
  const to = text.indexOf(end)
  if (from === -1 || to < from) throw new Error(`Cannot replace a table: the page has no ${begin}`)
  return `${text.slice(0, from)}${begin}\n\n${table}\n\n${text.slice(to)}`
}

/** Puts `table` into the README of the project, between the markers of `command`. */
export async function writeReadmeTable(command: string, table: string): Promise<void> {
  const readme = new URL('../README.md', import.meta.url)
  await Deno.writeTextFile(readme, replaceTable(await Deno.readTextFile(readme), command, table))
}
