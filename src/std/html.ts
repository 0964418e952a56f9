// @ts-types="./types/html.d.ts"
export * from 'deno-std/html/mod.js'
