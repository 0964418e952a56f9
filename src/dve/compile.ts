/** A program as two JavaScript functions: one that makes a string, and one, made when it is asked for, that streams. */
import type { Emitter, Filter, Frame } from './emit_expression.ts'
import { emitNodes } from './emit_nodes.ts'
import type { Program, Unit } from './program.ts'
import { helpers } from './runtime.ts'
import type { RenderState } from './state.ts'
import type { Binding } from './scope.ts'

/** Renders to a string. */
export type RenderFunction = (state: RenderState, data: unknown) => string

/** Renders to `state.output`. Yields nothing to be flushed, a promise to be waited for. */
export type StreamFunction = (
  state: RenderState,
  data: unknown,
) => Generator<Promise<void> | undefined, void, void>

/** A function and the places that `state.place` counts: a unit's index and an offset each. */
export interface Compiled<F> {
  readonly run: F
  readonly places: readonly number[]
}

/** Makes the function for strings. Throws `TemplateError` for a filter that is not registered. */
export function compileRender(
  program: Program,
  filters: ReadonlyMap<string, Filter>,
): Compiled<RenderFunction> {
  return compileProgram(program, filters, false) as Compiled<RenderFunction>
}

/** Makes the function for streams, see {@linkcode compileRender}. */
export function compileStream(
  program: Program,
  filters: ReadonlyMap<string, Filter>,
): Compiled<StreamFunction> {
  return compileProgram(program, filters, true) as Compiled<StreamFunction>
}

/** The generated module, for tests and for the curious. */
function generateCode(
  program: Program,
  filters: ReadonlyMap<string, Filter>,
  isStream: boolean,
): { code: string; places: number[]; usedFilters: Filter[] } {
  const emitter: Emitter = {
    isStream,
    filters,
    usedFilters: [],
    places: [program.entry.index, 0],
    lines: ['"use strict";', `const {${Object.keys(helpers).join()}}=R;`],
    parts: [],
    nextLocal: 0,
  }
  for (const unit of program.units) {
    if (unit.isIncluded) emitFunction(emitter, unit, true)
  }
  emitFunction(emitter, program.entry, false)
  emitter.lines.push('return main')
  return { code: emitter.lines.join('\n'), places: emitter.places, usedFilters: emitter.usedFilters }
}

function compileProgram(
  program: Program,
  filters: ReadonlyMap<string, Filter>,
  isStream: boolean,
): Compiled<unknown> {
  const { code, places, usedFilters } = generateCode(program, filters, isStream)
  const factory = new Function('R', 'K', code)
  return { run: factory(helpers, usedFilters), places }
}

/** An included template takes its open names as parameters; the page reads them from the data, `d`. */
function emitFunction(emitter: Emitter, unit: Unit, isIncluded: boolean): void {
  const star = emitter.isStream ? '*' : ''
  const output = emitter.isStream ? [] : ['o']
  if (isIncluded) {
    const parameters = new Map<string, Binding>()
    for (const key of unit.free) parameters.set(key, { code: `p${parameters.size}`, kind: 'any' })
    const names = ['s', ...output, 'F', ...[...parameters.values()].map((binding) => binding.code)]
    emitter.lines.push(`function${star} f${unit.index}(${names.join()}){`)
    emitBody(emitter, { unit, parameters })
  } else {
    emitter.lines.push(`function${star} main(s,d){const F=null;${emitter.isStream ? '' : 'let o="";'}`)
    emitBody(emitter, { unit, parameters: null })
  }
  emitter.lines.push(emitter.isStream ? '}' : 'return o}')
}

function emitBody(emitter: Emitter, frame: Frame): void {
  emitNodes(emitter, frame, null, frame.unit.nodes)
}
