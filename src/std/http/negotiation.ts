// @ts-types="../types/http/negotiation.d.ts"
export * from 'deno-std/http/negotiation.js'
