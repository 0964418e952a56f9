/** Programs that are trusted to import packages: bundled on the host before they are loaded. */
import { bundleGiven } from '../isolate/bundle/bundle.ts'
import type { IsolateRuntime } from '../isolate/plan/options.ts'
import { bytesOf, checkCode, type CheckedCode, createToStack, type SandboxCode } from './code.ts'
import type { GuestProgram, ModuleEntry } from './message.ts'

/** A program as its loader gives it, ready for a machine. Rejects with what is wrong with it. */
export async function loadCode(
  loader: () => SandboxCode | Promise<SandboxCode>,
  runtime: IsolateRuntime,
): Promise<CheckedCode> {
  const given = await loader()
  const code = checkCode(given)
  return given.npm === true ? await withPackages(code, runtime) : code
}

/** The program with one module in place of its code. What is no code stays beside it. */
async function withPackages(code: CheckedCode, runtime: IsolateRuntime): Promise<CheckedCode> {
  const { main, modules } = code.program
  const isCode = ([, kind]: ModuleEntry) => kind === 'js' || kind === 'ts'
  const beside = modules.filter((entry) => !isCode(entry))
  const bundle = await bundleGiven({
    runtime,
    root: Deno.cwd(),
    main,
    modules: {
      code: new Map(
        modules.filter(isCode).map((
          [name, kind, text],
        ) => [name, { text: text as string, loader: kind as 'js' | 'ts' }]),
      ),
      beside: new Set(beside.map(([name]) => name)),
    },
  })
  const name = nameOf(main, beside)
  const text = new TextDecoder().decode(bundle.code)
  const program: GuestProgram = { main: name, modules: [[name, 'js', text], ...beside] }
  const sourceMaps = { [name]: bundle.map }
  const bytes = bytesOf(program.modules, sourceMaps)
  return { ...code, program, toStack: createToStack(sourceMaps, [name]), bytes, typed: false }
}

/** The bundle's name: what is beside it is imported from its folder. */
function nameOf(main: string, beside: readonly ModuleEntry[]): string {
  const name = main.split('/').at(-1)!.replace(/\.m?ts$/, '.js')
  return beside.some(([other]) => other === name) ? `bundle.${name}` : name
}
