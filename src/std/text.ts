// @ts-types="./types/text.d.ts"
export * from 'deno-std/text/mod.js'
