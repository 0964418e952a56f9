// @ts-types="../types/encoding/base64url.d.ts"
export * from 'deno-std/encoding/base64url.js'
