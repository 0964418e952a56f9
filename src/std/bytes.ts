// @ts-types="./types/bytes.d.ts"
export { equals } from 'deno-std/bytes/equals.js'
