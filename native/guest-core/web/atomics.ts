/** `Atomics`, where the engine's own asks functions that a program must not reach. */
import { refuse } from './missing.ts'

/** Makes it that of a program with one thread: nobody waits, so there is nobody to wake. */
export function installAtomics(): void {
  define('notify', (cells: unknown, index: number, count?: number): number => {
    if (!(cells instanceof Int32Array || cells instanceof BigInt64Array)) {
      throw new TypeError('Cannot notify: want an Int32Array or a BigInt64Array')
    }
    // Throws for an index that is out of range.
    Atomics.load(cells as Int32Array, index)
    if (count !== undefined) Number(count)
    return 0
  })
  define('waitAsync', () => {
    throw refuse('Atomics.waitAsync')
  })
}

function define(name: string, value: (...values: never[]) => unknown): void {
  Object.defineProperty(value, 'name', { value: name, configurable: true })
  Object.defineProperty(Atomics, name, { value, writable: true, configurable: true })
}
