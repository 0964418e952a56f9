/** TypeScript where the runtime cannot read it: sucrase, which leaves every line where it was. */
import { transform } from 'sucrase'

/** JavaScript of the same lines. Throws `SyntaxError`. Imports stay as they are written, so those of types must say `import type`. */
export function stripTypes(text: string): string {
  return transform(text, {
    transforms: ['typescript'],
    disableESTransforms: true,
    keepUnusedImports: true,
  }).code
}
