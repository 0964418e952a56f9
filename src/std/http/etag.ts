// @ts-types="../types/http/etag.d.ts"
export * from 'deno-std/http/etag.js'
