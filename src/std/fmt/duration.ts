// @ts-types="../types/fmt/duration.d.ts"
export * from 'deno-std/fmt/duration.js'
