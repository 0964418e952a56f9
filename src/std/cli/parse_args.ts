// @ts-types="../types/cli/parse_args.d.ts"
export * from 'deno-std/cli/parse_args.js'
