export const isolated = { bindings: ['NONE'] }

export function GET(): Response {
  return new Response('never')
}
