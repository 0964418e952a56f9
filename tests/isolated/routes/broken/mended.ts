/** A module that its warm-up wears out, and whose hook makes it as new. */
export const isolated = { group: 'broken' }

let requests = 0

export function beforeSnapshot(): void {
  requests = 0
}

export function GET(): Response {
  if (++requests > 5) throw new Error('worn out')
  return new Response('mended')
}
