// @ts-types="../types/encoding/base64.d.ts"
export * from 'deno-std/encoding/base64.js'
