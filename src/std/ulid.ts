// @ts-types="./types/ulid.d.ts"
export * from 'deno-std/ulid/mod.js'
