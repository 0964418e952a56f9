export const isolated = true

/** Its stack ends elsewhere in the first request of a machine than in later ones. */
export function GET(): Response {
  throw new Error('always')
}
