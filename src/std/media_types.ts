// @ts-types="./types/media_types.d.ts"
export * from 'deno-std/media_types/mod.js'
