/** `deno task bench --match`: what it costs to find a route among 10 and among 10 000. */
import { match } from '../src/router/match/match.ts'
import { createTree, FOUND, insert, type Tree } from '../src/router/match/tree.ts'
import { nanosPerCall } from './measure.ts'

const CALLS = 200_000
const KINDS = ['static', 'parameter', 'two parameters', 'catch-all', 'no route'] as const

/** A tree of `routes` patterns, a quarter of each kind, and paths of each kind that are spread over it. */
export function makeTree(
  routes: number,
): { tree: Tree<number>; paths: Record<typeof KINDS[number], string[]> } {
  const tree = createTree<number>()
  const areas = Math.max(1, Math.floor(routes / 40))
  const paths: Record<typeof KINDS[number], string[]> = {
    static: [],
    parameter: [],
    'two parameters': [],
    'catch-all': [],
    'no route': [],
  }
  for (let i = 0; i < routes; i++) {
    const base = `/area${i % areas}/thing${i}`
    const [kind, pattern, path] = ([
      ['static', `${base}/list`, `${base}/list`],
      ['parameter', `${base}/[id]`, `${base}/${i * 7}`],
      ['two parameters', `${base}/[id]/parts/[part]`, `${base}/${i * 7}/parts/p${i}`],
      ['catch-all', `${base}/files/[...rest]`, `${base}/files/a/b/${i}`],
    ] as const)[i % 4]
    insert(tree, pattern, 'GET', i)
    paths[kind].push(path)
    paths['no route'].push(`${base}/none/of/these`)
  }
  return { tree, paths }
}

/** Prints a table of nanoseconds a match. */
export function main(): void {
  const sizes = [10, 10_000]
  const costs = sizes.map((size) => {
    const { tree, paths } = makeTree(size)
    return KINDS.map((kind) => {
      // As many different paths for both sizes, so that the caches of the machine see the same.
      const own = Array.from({ length: 64 }, (_, i) => paths[kind][Math.floor(i * paths[kind].length / 64)])
      let found = 0
      const nanos = nanosPerCall((i) => {
        if (match(tree, own[i & 63], 'GET').outcome === FOUND) found++
      }, CALLS)
      if ((found === 0) !== (kind === 'no route')) throw new Error(`Cannot measure ${kind}: ${found} matches`)
      return nanos
    })
  })
  console.log(
    `\nnanoseconds to match  ${sizes.map((size) => `${size} routes`.padStart(14)).join('')}         ratio`,
  )
  KINDS.forEach((kind, k) => {
    const [few, many] = [costs[0][k], costs[1][k]]
    const verdict = many / few <= 2 ? 'reached' : 'MISSED (at most 2)'
    console.log(
      `${kind.padEnd(22)}${few.toFixed(0).padStart(14)}${many.toFixed(0).padStart(14)}${
        (many / few).toFixed(2).padStart(14)
      }  ${verdict}`,
    )
  })
}

if (import.meta.main) main()
