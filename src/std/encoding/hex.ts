// @ts-types="../types/encoding/hex.d.ts"
export * from 'deno-std/encoding/hex.js'
