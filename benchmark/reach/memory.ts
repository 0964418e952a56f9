/** What this process keeps in memory. */

/**
 * KiB that are this process's: a page that several mappings share counts once, and page tables count. What is resident counts a page once for each
 * mapping, so that a snapshot's pages would count for each of its machines.
 */
export function ownKib(): number {
  const pages = Deno.readTextFileSync('/proc/self/smaps_rollup')
  return read(pages, 'Pss') + read(Deno.readTextFileSync('/proc/self/status'), 'VmPTE')
}

function read(text: string, name: string): number {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)
  if (found === null) throw new Error(`Cannot read ${name} of this process`)
  return Number(found[1])
}
