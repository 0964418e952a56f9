// @ts-types="./types/path.d.ts"
export * from 'deno-std/path/mod.js'
