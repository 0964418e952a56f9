/** Timing helpers (deno-std async). Times are in milliseconds. */
export interface DelayOptions {
  signal?: AbortSignal
  persistent?: boolean
}
export function delay(ms: number, options?: DelayOptions): Promise<void>
export function deadline<T>(promise: Promise<T>, ms: number, options?: { signal?: AbortSignal }): Promise<T>
export interface DebouncedFunction<T extends unknown[]> {
  (...args: T): void
  clear(): void
  flush(): void
  readonly pending: boolean
}
export function debounce<T extends unknown[]>(
  fn: (this: DebouncedFunction<T>, ...args: T) => void,
  wait: number,
): DebouncedFunction<T>
export function pooledMap<T, R>(
  poolLimit: number,
  array: Iterable<T> | AsyncIterable<T>,
  iteratorFn: (data: T) => Promise<R>,
): AsyncIterableIterator<R>
