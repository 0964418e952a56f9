import type { LoadedRoute, RouteTable } from './load.ts'
import { ANY_METHOD } from '../match/methods.ts'
import { createTree, insert, insertMount, type Tree } from '../match/tree.ts'

/**
 * Builds the tree of a table. `toValue` is called once for each method of a route, and with `'*'` for a mount (all
 * other methods, at and below the pattern) and for a broken route (all methods).
 *
 * Throws `TypeError` if a mount and a file claim the same paths.
 */
export function buildTree<T>(
  table: Pick<RouteTable, 'routes'>,
  toValue: (route: LoadedRoute, method: string) => T,
  options: { maxParamLength?: number } = {},
): Tree<T> {
  const tree = createTree<T>(options)
  for (const route of table.routes) {
    for (const method of route.methods) insert(tree, route.pattern, method, toValue(route, method))
    if (route.mount) insertMount(tree, route.pattern, toValue(route, ANY_METHOD))
    else if (route.error !== null) insert(tree, route.pattern, ANY_METHOD, toValue(route, ANY_METHOD))
  }
  return tree
}
