/**
 * Loads a program where the runtime is Deno. Deno's own loader reads a module with a parser of its own first, to find what it imports, and
 * leaves that parser's tree in memory: 34 MiB and two thirds of the time for a bundle of 2 MB. A bundle imports nothing but the guest's file
 * and Node's modules, so V8 alone is enough.
 */
import type { Namespace } from '../host.ts'

interface VmModule {
  link(linker: (specifier: string) => Promise<VmModule>): Promise<void>
  evaluate(): Promise<void>
  setExport(name: string, value: unknown): void
}

/** The part of `node:vm` that is used here. */
interface Vm {
  readonly SourceTextModule: new (source: string, options: {
    identifier: string
    initializeImportMeta: (meta: Record<string, unknown>) => void
    importModuleDynamically: (
      specifier: string,
      referrer: unknown,
      attributes: Record<string, string>,
    ) => Promise<Namespace>
  }) => VmModule
  readonly SyntheticModule: new (
    names: readonly string[],
    evaluate: (this: VmModule) => void,
    options: { identifier: string },
  ) => VmModule
}

const { readTextFileSync } = Deno

/** Runs the module at `path`. What it imports as the guest's own file is `runtime`. Rejects with what it throws. */
export async function loadProgram(path: string, runtime: Namespace): Promise<void> {
  await runModule(path, readTextFileSync(path), runtime)
}

/** Runs a module of this text. In a base, so that its programs share what that needs. */
export async function runModule(path: string, source: string, runtime: Namespace): Promise<void> {
  const { SourceTextModule, SyntheticModule } = nodeVm()
  const url = `file://${path}`
  const module = new SourceTextModule(source, {
    identifier: url,
    initializeImportMeta: (meta) => {
      meta.url = url
      meta.filename = path
      meta.dirname = path.slice(0, path.lastIndexOf('/')) || '/'
      meta.main = false
      meta.resolve = (specifier: string) => new URL(specifier, url).href
    },
    importModuleDynamically: (specifier, _, attributes) => import(specifier, { with: attributes }),
  })
  await module.link(async (specifier) => {
    const namespace = specifier.startsWith('node:') ? await import(specifier) as Namespace : runtime
    const names = Object.keys(namespace)
    return new SyntheticModule(
      names,
      function () {
        for (const name of names) this.setExport(name, namespace[name])
      },
      { identifier: specifier },
    )
  })
  await module.evaluate()
}

function nodeVm(): Vm {
  const { process } = globalThis as unknown as { process: { getBuiltinModule(name: string): unknown } }
  return process.getBuiltinModule('node:vm') as Vm
}
