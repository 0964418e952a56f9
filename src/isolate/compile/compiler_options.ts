/** How the project wants its TypeScript and JSX compiled: `compilerOptions` of `deno.json`, as far as they change what runs. */
import { dirname, join } from '@std/path'
import { parse } from '@std/jsonc'
import { isFile } from '../resolve/files.ts'

const CONFIGS = ['deno.json', 'deno.jsonc']

/** The options that change what a module does. */
export interface CompilerOptions {
  readonly experimentalDecorators?: boolean
  readonly emitDecoratorMetadata?: boolean
  readonly useDefineForClassFields?: boolean
  readonly jsx?: string
  readonly jsxFactory?: string
  readonly jsxFragmentFactory?: string
  readonly jsxImportSource?: string
}

const NAMES: readonly (keyof CompilerOptions)[] = [
  'experimentalDecorators',
  'emitDecoratorMetadata',
  'useDefineForClassFields',
  'jsx',
  'jsxFactory',
  'jsxFragmentFactory',
  'jsxImportSource',
]

/** The options for files in `folder`, which lies in `project`: the nearest configuration goes before those above. */
export async function readCompilerOptions(folder: string, project: string): Promise<CompilerOptions> {
  const options: Record<string, unknown> = {}
  const end = dirname(project)
  for (let at = await Deno.realPath(folder); at !== end && dirname(at) !== at; at = dirname(at)) {
    for (const name of CONFIGS) {
      const path = join(at, name)
      if (!isFile(path)) continue
      const { compilerOptions } = Object(parse(await Deno.readTextFile(path)))
      for (const option of NAMES) options[option] ??= Object(compilerOptions)[option]
    }
  }
  return options
}

/** The options as esbuild takes them. The JSX runtime is React's where none is named; Deno's own ways of it come to the same. */
export function toCompilation(options: CompilerOptions): Readonly<Record<string, unknown>> {
  const { emitDecoratorMetadata: _, jsx, ...rest } = options
  const automatic = jsx !== 'react'
  return {
    tsconfigRaw: { compilerOptions: { ...rest, jsx: automatic ? 'react-jsx' : 'react' } },
    // Neither V8 nor QuickJS has them.
    supported: { decorators: false },
  }
}
