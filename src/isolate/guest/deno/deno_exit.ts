/** Finds where a program ends itself while it loads, as that leaves no stack. */

const { stderr } = Deno
/** As `EXIT_MARK` of the host has it. */
const MARK = 'mayfly: the program is ended here'

interface Ends {
  exit(code?: number): never
  reallyExit?(code?: number): never
}

/** Makes the calls that end a program print their place; returns a function that undoes this. */
export function watchExit(): () => void {
  const { process } = globalThis as unknown as { process: Ends }
  const undo = [watch(Deno, 'exit'), watch(process, 'exit'), watch(process, 'reallyExit')]
  return () => {
    for (const each of undo) each()
  }
}

function watch(of: Ends, name: keyof Ends): () => void {
  const before = Object.getOwnPropertyDescriptor(of, name)
  const end = of[name]
  if (before?.configurable !== true || end === undefined) return () => {}
  Object.defineProperty(of, name, {
    ...before,
    value: (code?: number): never => {
      const { stack } = new Error(MARK)
      stderr.writeSync(new TextEncoder().encode(`${stack}\n`))
      return end.call(of, code)
    },
  })
  return () => Object.defineProperty(of, name, before)
}
