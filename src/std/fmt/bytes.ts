// @ts-types="../types/fmt/bytes.d.ts"
export * from 'deno-std/fmt/bytes.js'
