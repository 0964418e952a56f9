/** Byte counts for people (deno-std fmt/bytes). */
export function format(
  num: number,
  options?: {
    bits?: boolean
    binary?: boolean
    signed?: boolean
    minimumFractionDigits?: number
    maximumFractionDigits?: number
  },
): string
