import type { Context } from '@mayfly/mayfly'
import ts from 'typescript'
import { PROGRAM } from '~/texts.ts'

export const inputs = [
  { text: PROGRAM },
  {
    text:
      'enum Größe { S, M }\nexport abstract class A<T> { protected x?: T; constructor(private readonly y: number) {} }',
  },
]

export async function POST(ctx: Context) {
  const { outputText, diagnostics } = ts.transpileModule(await ctx.get.text(), {
    reportDiagnostics: true,
    compilerOptions: { target: ts.ScriptTarget.ES2019, module: ts.ModuleKind.CommonJS },
  })
  ctx.set.header('x-diagnostics', String(diagnostics?.length))
  return ctx.send.text(outputText)
}
