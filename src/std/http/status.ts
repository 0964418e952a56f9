// @ts-types="../types/http/status.d.ts"
export * from 'deno-std/http/status.js'
