import { assertEquals } from '@std/assert'
import { listImports } from '../../src/compiler/module_imports.ts'
import { parseModule } from '../../src/compiler/module_tree.ts'

async function importsOf(source: string): Promise<string[]> {
  const { program } = await parseModule('/a/module.ts', source, { everyImport: true })
  return listImports(program).sort()
}

Deno.test('listImports finds every way to import', async () => {
  const source = `import './a.ts'
    import one, { two as three } from "./b.ts"
    import * as all from './c.ts'
    export { four } from './d.ts'
    export * from './e.ts'
    export const GET = async () => [await import('./f.ts'), await import(\`./g.ts\`)]
    export default class { static five = import('./h.ts') }`
  const letters = [...'abcdefgh']
  assertEquals(await importsOf(source), letters.map((letter) => `./${letter}.ts`))
})

Deno.test('listImports takes no text, comment, type or computed name for an import', async () => {
  const source = `// import './a.ts'
    import type { A } from './b.ts'
    const text = "import './c.ts'", name = 'd'
    export const GET = () => [text, import('./' + name + '.ts'), import(\`./\${name}.ts\`), { from: './e.ts' }]`
  assertEquals(await importsOf(source), [])
})

Deno.test('listImports walks a tree of any depth', async () => {
  assertEquals(await importsOf(`export const a = ${'1 + '.repeat(2000)}import('./deep.ts')`), ['./deep.ts'])
})
