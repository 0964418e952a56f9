export const isolated = true

/** Ends its program, in the warm-up as well. */
export function GET(): Response {
  return Deno.exit(1)
}
