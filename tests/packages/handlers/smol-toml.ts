import type { Context } from '@mayfly/mayfly'
import { parse, stringify, TomlError } from 'smol-toml'

export const inputs = [
  {
    text: '[package]\nname = "größe"\nversion = "1.0.0"\n' +
      Array.from({ length: 60 }, (_, index) => `[[deps]]\nname = "dep-${index}"\nsize = ${index}.5\n`).join(
        '',
      ),
  },
  { text: 'a = { b = [1, 2], c = 0xff }\nd = 1979-05-27\ne = """\nzwei\nZeilen"""' },
  { text: 'a = ' },
]

export async function POST(ctx: Context) {
  try {
    const value = parse(await ctx.get.text())
    return ctx.send.json({ value, text: stringify(value) })
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    return ctx.send.json({ line: error.line, column: error.column }, { status: 422 })
  }
}
