/** A handler that fails after some requests, whatever they ask. */
export const isolated = { group: 'broken' }

let requests = 0

export function GET(): Response {
  if (++requests > 5) throw new Error('worn out')
  return new Response('as new')
}
