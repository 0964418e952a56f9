// The package's async/mod.js names a folder that the package does not hold, so each module comes by itself.
// @ts-types="./types/async.d.ts"
export * from 'deno-std/async/delay.js'
// @ts-types="./types/async.d.ts"
export * from 'deno-std/async/deadline.js'
// @ts-types="./types/async.d.ts"
export * from 'deno-std/async/debounce.js'
// @ts-types="./types/async.d.ts"
export * from 'deno-std/async/pool.js'
