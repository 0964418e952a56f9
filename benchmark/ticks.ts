/** The numbers along the axis of a chart. */

/** From 0 in whole steps of 1, 2 or 5 times a power of ten, to the first step that reaches `most`. */
export function linearTicks(most: number): number[] {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, most) / 4))
  const step = [1, 2, 5, 10].map((times) => times * power).find((step) => step >= 1 && most / step <= 6) ??
    most
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, index) => index * step)
}
