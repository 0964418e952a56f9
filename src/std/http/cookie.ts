// @ts-types="../types/http/cookie.d.ts"
export * from 'deno-std/http/cookie.js'
