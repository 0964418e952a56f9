// @ts-types="../types/crypto/timing_safe_equal.d.ts"
export * from 'deno-std/crypto/timing_safe_equal.js'
