/** Assertions for tests (deno-std assert). */
export class AssertionError extends Error {
  constructor(message: string, options?: ErrorOptions)
}
// deno-lint-ignore no-explicit-any
export type Constructor<T = unknown> = abstract new (...args: any[]) => T
export function assert(expr: unknown, msg?: string): asserts expr
export function assertFalse(expr: unknown, msg?: string): void
export function assertEquals<T>(actual: T, expected: T, msg?: string): void
export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void
export function assertStrictEquals<T>(actual: unknown, expected: T, msg?: string): asserts actual is T
export function assertNotStrictEquals<T>(actual: T, expected: T, msg?: string): void
export function assertExists<T>(actual: T, msg?: string): asserts actual is NonNullable<T>
export function assertMatch(actual: string, expected: RegExp, msg?: string): void
export function assertNotMatch(actual: string, expected: RegExp, msg?: string): void
export function assertStringIncludes(actual: string, expected: string, msg?: string): void
export function assertArrayIncludes<T>(actual: ArrayLike<T>, expected: ArrayLike<T>, msg?: string): void
export function assertInstanceOf<T>(
  actual: unknown,
  expected: Constructor<T>,
  msg?: string,
): asserts actual is T
export function assertGreater<T>(actual: T, expected: T, msg?: string): void
export function assertGreaterOrEqual<T>(actual: T, expected: T, msg?: string): void
export function assertLess<T>(actual: T, expected: T, msg?: string): void
export function assertLessOrEqual<T>(actual: T, expected: T, msg?: string): void
export function assertAlmostEquals(actual: number, expected: number, tolerance?: number, msg?: string): void
export function assertObjectMatch(actual: object, expected: object, msg?: string): void
export function assertThrows(fn: () => unknown, msg?: string): unknown
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  errorClass: Constructor<E>,
  msgIncludes?: string,
  msg?: string,
): E
export function assertRejects(fn: () => PromiseLike<unknown>, msg?: string): Promise<unknown>
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  errorClass: Constructor<E>,
  msgIncludes?: string,
  msg?: string,
): Promise<E>
export function equal(a: unknown, b: unknown): boolean
export function fail(msg?: string): never
export function unreachable(reason?: string): never
