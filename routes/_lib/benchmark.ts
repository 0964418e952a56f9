/** The newest report of `deno task bench`, from benchmark/results. */

/** What the home page says of it. */
export interface Summary {
  readonly ratio: string
}

/** The newest report, or undefined when there is none. */
export async function readReport(root: URL): Promise<Record<string, unknown> | undefined> {
  const folder = new URL('benchmark/results/', root)
  const names: string[] = []
  for await (const entry of Deno.readDir(folder)) if (entry.name.endsWith('.json')) names.push(entry.name)
  const newest = names.sort().at(-1)
  return newest === undefined ? undefined : JSON.parse(await Deno.readTextFile(new URL(newest, folder)))
}

/** The figure for the home page, or undefined without a report. */
export async function readSummary(root: URL): Promise<Summary | undefined> {
  const report = await readReport(root)
  return report === undefined ? undefined : { ratio: String(report.ratio) }
}
