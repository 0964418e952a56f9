/** Durations for people (deno-std fmt/duration); the argument is in milliseconds. */
export function format(
  ms: number,
  options?: { style?: 'narrow' | 'full' | 'digital'; ignoreZero?: boolean },
): string
