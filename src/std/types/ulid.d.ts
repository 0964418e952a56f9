/** Sortable identifiers (deno-std ulid); the seed is milliseconds since the epoch. */
export function ulid(seedTime?: number): string
export function monotonicUlid(seedTime?: number): string
export function decodeTime(ulid: string): number
