// @ts-types="./types/jsonc.d.ts"
export * from 'deno-std/jsonc/mod.js'
