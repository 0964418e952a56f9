/** The state of one render, and the limits that it counts against. */
import type { LimitName } from './error.ts'

/** Limits of one render, and the deepest nesting of includes and layouts. */
export interface RenderLimits {
  readonly maxIterations: number
  readonly maxRenderIterations: number
  readonly maxOutputSize: number
}

/** Deepest nesting of open includes and layouts. */
const MAX_INCLUDE_DEPTH = 64

/**
 * The state of one render. `place` indexes the program's places and is set before anything that may throw; `output` is used
 * by streams only.
 */
export interface RenderState {
  place: number
  iterations: number
  depth: number
  readonly limits: RenderLimits
  readonly maxOutput: number
  output: string
  sent: number
  loops: number
  readonly chunkSize: number
}

/** A limit was crossed; becomes a `TemplateError` with its place. */
export class LimitError extends Error {
  readonly limit: LimitName
  constructor(limit: LimitName, reason: string) {
    super(reason)
    this.limit = limit
  }
}

/** The start of a render. `chunkSize` is in characters. */
export function createState(
  limits: RenderLimits,
  maxOutput = limits.maxOutputSize,
  chunkSize = 0,
): RenderState {
  return {
    place: 0,
    iterations: 0,
    depth: 0,
    limits,
    maxOutput,
    output: '',
    sent: 0,
    loops: 0,
    chunkSize,
  }
}

/** Counts `count` bodies of one loop. */
export function countLoop(state: RenderState, count: number): void {
  const { maxIterations, maxRenderIterations } = state.limits
  if (typeof count !== 'number' || !(count <= maxIterations)) {
    throw new LimitError(
      'maxIterations',
      `Cannot run loop: it has ${typeof count === 'number' ? count : 'an odd number of'} items, ` +
        `want at most maxIterations ${maxIterations}`,
    )
  }
  if ((state.iterations += count) > maxRenderIterations) throw tooManyIterations(maxRenderIterations)
}

function tooManyIterations(limit: number): LimitError {
  return new LimitError(
    'maxRenderIterations',
    `Cannot go on: the render runs more loop bodies and includes than maxRenderIterations ${limit}`,
  )
}

/** Enters an include or a layout, which counts as one loop body. */
export function enterInclude(state: RenderState, place: number): void {
  state.place = place
  if (++state.depth > MAX_INCLUDE_DEPTH) {
    throw new LimitError(
      'maxIncludeDepth',
      `Cannot include: includes nest deeper than ${MAX_INCLUDE_DEPTH} (maxIncludeDepth)`,
    )
  }
  if (++state.iterations > state.limits.maxRenderIterations) {
    throw tooManyIterations(state.limits.maxRenderIterations)
  }
}

/** The error for output that is over its limit. */
export function failOutput(state: RenderState, place = state.place): never {
  state.place = place
  throw new LimitError(
    'maxOutputSize',
    `Cannot go on: the output is longer than maxOutputSize ${state.maxOutput} characters`,
  )
}
