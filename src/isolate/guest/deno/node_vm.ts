/** The part of Deno's `node:vm` by which guests load modules: V8 alone, without a loader that reads files or URLs. */
import type { Namespace } from '../host.ts'

export interface VmModule {
  readonly identifier: string
  readonly namespace: Namespace
  readonly status: string
  link(linker: (specifier: string, from: VmModule) => Promise<VmModule>): Promise<void>
  evaluate(): Promise<void>
  setExport(name: string, value: unknown): void
}

export interface NodeVm {
  readonly SourceTextModule: new (source: string, options: {
    identifier: string
    initializeImportMeta: (meta: Record<string, unknown>) => void
    importModuleDynamically: (
      specifier: string,
      from: VmModule,
      attributes: Record<string, string>,
    ) => Promise<VmModule | Namespace>
  }) => VmModule
  readonly SyntheticModule: new (
    names: readonly string[],
    evaluate: (this: VmModule) => void,
    options: { identifier: string },
  ) => VmModule
}

/** A module of Node that Deno has in itself. */
export function getBuiltin<T>(name: string): T {
  const { process } = globalThis as unknown as { process: { getBuiltinModule(name: string): T } }
  return process.getBuiltinModule(name)
}

/** A module that exports what `namespace` has. */
export function makeSynthetic(
  SyntheticModule: NodeVm['SyntheticModule'],
  identifier: string,
  namespace: Namespace,
): VmModule {
  const names = Object.keys(namespace)
  return new SyntheticModule(names, function () {
    for (const name of names) this.setExport(name, namespace[name])
  }, { identifier })
}
