/** Modules that are handed in and lie in no file, in a bundle with the packages that they import. */
import { dirname, join, relative } from '@std/path'
import type { PluginBuild, ResolveArguments, ResolveResult } from '../compile/compiler.ts'

/** Namespace of modules that are handed in; their paths are those that files beside the project's would have. */
export const GIVEN_NAMESPACE = 'given'

/** What is handed in. Names are relative paths, as `lib/a.ts`. */
export interface GivenModules {
  /** Texts that the bundle consists of. */
  readonly code: ReadonlyMap<string, { readonly text: string; readonly loader: 'js' | 'ts' }>
  /** Modules that stay beside the bundle, which imports them. */
  readonly beside: ReadonlySet<string>
}

/** A folder for them, from where packages are looked for. Nothing needs to lie there. */
export function givenFolder(project: string): string {
  return join(project, '.mayfly-given')
}

/** A plugin that finds modules that are handed in, ahead of the one that finds files and packages. */
export function givenPlugin(
  folder: string,
  { code, beside }: GivenModules,
): { name: string; setup(build: PluginBuild): void } {
  const list = [...code.keys(), ...beside].slice(0, 10).join(', ')
  const find = (name: string): ResolveResult | undefined => {
    if (code.has(name)) return { path: join(folder, name), namespace: GIVEN_NAMESPACE }
    return beside.has(name) ? { path: `./${name}`, external: true } : undefined
  }
  return {
    name: 'given',
    setup(build) {
      build.onResolve({ filter: /.*/ }, (args: ResolveArguments) => {
        const { path, importer, namespace } = args
        if (path.startsWith(`${folder}/`)) return find(relative(folder, path))
        if (namespace !== GIVEN_NAMESPACE) return undefined
        if (!/^(?:\.{0,2}\/|\.{1,2}$|file:)/.test(path)) return find(path)
        const found = path.startsWith('.') ? find(relative(folder, join(dirname(importer), path))) : undefined
        const text = `import '${path}': it is none of the modules that came with the program: ${list}`
        return found ?? { errors: [{ text }] }
      })
      build.onLoad({ filter: /.*/, namespace: GIVEN_NAMESPACE }, ({ path }) => {
        const { text, loader } = code.get(relative(folder, path))!
        return { contents: text, loader, resolveDir: folder }
      })
    },
  }
}
