/**
 * Finds requests that take much longer than the trial of their handler promised: their shape was not in the warm-up, and the reset
 * undoes what V8 learns from them.
 *
 * ```text
 * within the lowest limit ---------------------------------------------> nothing is looked at
 * over it -> within that of its shape -> nothing
 *         -> SUSPECTED times over it -> suspect: the handler's requests are looked at, quick ones too
 *                  one of the shape is quick -> acquitted        CONFIRMED more are slow -> reported, once
 * ```
 *
 * The first figures come with every request, so a handler that keeps its promise costs two comparisons. A busy host lengthens some
 * requests, and seldom every one of {@link CONFIRMED}: the quickest counts.
 */
import type { RequestState } from '../../context/state.ts'
import {
  describeShape,
  mediaType,
  queryNames,
  type RequestShape,
  sizeClass,
  withoutIds,
} from '../warm/request_shape.ts'
import { type HandlerTrial, longestRun } from './trial.ts'

/** Slow requests of a shape until its handler is watched closely, and then until it is reported. */
const SUSPECTED = 8
const CONFIRMED = 16
/** Requests of other shapes that a close watch lasts for. */
const PATIENCE = 1000
/** Shapes that are kept for a handler; what clients send must not fill the memory. */
const MOST_SHAPES = 64

/** Requests of one shape that were all slow. */
interface Slow {
  count: number
  leastUs: number
}

/** A shape whose requests stay slow. */
export interface ColdFinding {
  readonly shape: RequestShape
  /** Quickest run of the last requests, and what the trial took, in microseconds. */
  readonly runUs: number
  readonly trialUs: number
}

/** What is known of one handler's requests. */
export interface ColdWatch {
  /** Pattern of the route; an app's mount. */
  readonly pattern: string
  readonly isApp: boolean
  /** Runs up to this many microseconds keep the promise of every trial. */
  readonly lowestUs: number
  readonly trials: ReadonlyMap<string, HandlerTrial>
  readonly slow: Map<string, Slow>
  readonly told: Set<string>
  /** The shape whose quick requests count too; null while nothing is amiss. */
  suspect: string | null
  /** Requests since then. */
  watched: number
}

/** A watch of a handler; without trials it finds nothing. */
export function createColdWatch(pattern: string, isApp: boolean, trials: readonly HandlerTrial[]): ColdWatch {
  return {
    pattern,
    isApp,
    lowestUs: trials.length === 0 ? Infinity : Math.min(...trials.map(longestRun)),
    trials: new Map(trials.map((trial) => [trial.shape, trial])),
    slow: new Map(),
    told: new Set(),
    suspect: null,
    watched: 0,
  }
}

/** Whether {@link findCold} has to look at a request that ran so long. */
export function isNotable({ lowestUs, suspect }: ColdWatch, runUs: number): boolean {
  return runUs > lowestUs || suspect !== null
}

/** Notes a request of which {@link isNotable} is true; gives the report on its shape, once. */
export function findCold(watch: ColdWatch, ctx: RequestState, runUs: number): ColdFinding | null {
  const { slow, told } = watch
  if (told.size >= MOST_SHAPES) return null
  if (watch.suspect !== null && ++watch.watched > PATIENCE) watch.suspect = null
  const shape = shapeOf(watch, ctx)
  const key = describeShape(shape)
  if (told.has(key)) return null
  const trial = watch.trials.get(key) ?? slowest(watch)
  if (runUs <= longestRun(trial)) {
    slow.delete(key)
    if (watch.suspect === key) watch.suspect = null
    return null
  }
  const seen = slow.get(key) ?? { count: 0, leastUs: Infinity }
  if (seen.count === 0 && slow.size >= MOST_SHAPES) slow.clear()
  seen.count++
  seen.leastUs = Math.min(seen.leastUs, runUs)
  slow.set(key, seen)
  if (watch.suspect === null && seen.count >= SUSPECTED) {
    watch.suspect = key
    watch.watched = 0
    slow.set(key, { count: 0, leastUs: Infinity })
  } else if (watch.suspect === key && seen.count >= CONFIRMED) {
    watch.suspect = null
    slow.delete(key)
    told.add(key)
    return { shape: toShown(watch, shape), runUs: seen.leastUs, trialUs: trial.runUs }
  }
  return null
}

/** What a shape that no trial had is measured by. */
function slowest({ trials }: ColdWatch): HandlerTrial {
  return [...trials.values()].reduce((most, trial) => trial.runUs > most.runUs ? trial : most)
}

function shapeOf(
  { pattern, isApp }: ColdWatch,
  { method, pathname, url, request }: RequestState,
): RequestShape {
  return {
    method,
    path: isApp ? withoutIds(pathname) : pattern,
    query: queryNames(url),
    type: mediaType(request.headers.get('content-type')),
    bodyBytes: sizeClass(Number(request.headers.get('content-length') ?? 0)),
  }
}

/** An app's paths may hold what somebody asked for. */
function toShown({ pattern, isApp }: ColdWatch, shape: RequestShape): RequestShape {
  return isApp ? { ...shape, path: `${pattern === '/' ? '' : pattern}/*` } : shape
}
