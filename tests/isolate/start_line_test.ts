import { assertEquals } from '@std/assert'
import { type Start, StartLine } from '../../src/isolate/boot/start_line.ts'

/** Starts that say when they begin, and end when they are let. */
class Gates {
  readonly begun: string[] = []
  readonly #open = new Map<string, PromiseWithResolvers<void>>()

  start(...files: string[]): Start {
    const gate = Promise.withResolvers<void>()
    this.#open.set(files[0], gate)
    return {
      files,
      run: () => {
        this.begun.push(files[0])
        return gate.promise
      },
    }
  }

  /** Ends a start, and lets what follows begin. */
  async end(file: string): Promise<void> {
    this.#open.get(file)!.resolve()
    await turn()
  }
}

/** Lets everything happen that can. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0))
}

Deno.test('starts run a few at a time, those first that were asked for, in that order', async () => {
  const [line, gates] = [new StartLine(), new Gates()]
  const told: string[] = []
  const ask = (file: string) => line.ask(file).then(() => void told.push(file))
  const early = ask('e')
  const all = line.run(['a', 'b', 'c', 'd', 'e'].map((file) => gates.start(file, `${file}2`)), 2)
  assertEquals(gates.begun, ['e', 'a'])
  const late = [ask('d2'), ask('c'), ask('d'), ask('b')]
  await gates.end('a')
  assertEquals([gates.begun, told], [['e', 'a', 'd'], []])
  await gates.end('d')
  assertEquals([gates.begun, told], [['e', 'a', 'd', 'c'], ['d', 'd2']])
  await gates.end('e')
  await gates.end('c')
  await gates.end('b')
  await Promise.all([all, early, ...late])
  assertEquals(told, ['d', 'd2', 'e', 'c', 'b'])
})

Deno.test('who asks for what is dropped waits for the next run; the end of all is told to everyone', async () => {
  const [line, gates] = [new StartLine(), new Gates()]
  const first = line.run([gates.start('a'), gates.start('b')], 1)
  let told = false
  const asked = line.ask('b').then(() => told = true)
  line.drop()
  await gates.end('a')
  await first
  assertEquals([gates.begun, told], [['a'], false])
  const second = line.run([gates.start('a'), gates.start('b')], 1)
  assertEquals(gates.begun, ['a', 'b'])
  await gates.end('b')
  await asked
  await line.ask('b')
  await line.ask('nothing')
  await gates.end('a')
  await second
  line.drop()
  const unknown = line.ask('nothing')
  line.settle()
  await unknown
})
