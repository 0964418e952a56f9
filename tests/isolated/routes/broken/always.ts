/** A handler that always fails: no warm-up broke it. */
export const isolated = { group: 'broken' }

export function GET(): Response {
  throw new Error('always')
}
