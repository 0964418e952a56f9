// @ts-types="../types/fmt/colors.d.ts"
export * from 'deno-std/fmt/colors.js'
