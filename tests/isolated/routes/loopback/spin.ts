/** Never answers. */
export const isolated = { timeoutMs: 500, warmup: 0 }

export function GET(): never {
  for (;;);
}
