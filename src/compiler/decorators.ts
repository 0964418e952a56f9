/** Decorators of both kinds, for who only reads a module: a class's parameters have them in one kind alone, private members in the other. */

const EXPERIMENTAL = '{"compilerOptions":{"experimentalDecorators":true}}'

/** What `compile` gives for one of esbuild's `tsconfigRaw`: the standard's decorators, or those of TypeScript where a module has these. */
export async function withEitherDecorators<T>(compile: (tsconfigRaw: string) => Promise<T>): Promise<T> {
  try {
    return await compile('{}')
  } catch (error) {
    if (!(error instanceof Error) || !error.message.includes('when experimental decorators are enabled')) {
      throw error
    }
    return await compile(EXPERIMENTAL)
  }
}
