/** The playground's page. */
import type { Context } from '@mayfly/mayfly'
import { group } from '../benchmark/chart.ts'
import { sayPhase } from '../isolation.ts'
import { renderPage } from '../page.ts'
import { siteOf } from '../site.ts'
import { type Attempt, type Cost, MAX_CODE, prepare, RUN_LIMITS, toMs } from './attempt.ts'
import { type Language, SAMPLES } from './samples.ts'

/** What stands on the page. */
export interface Draft {
  readonly code: string
  readonly language: Language
  /** The sample that it is. */
  readonly id?: string
  /** What came of it, where it has run. */
  readonly result?: Attempt
}

/** Renders the page with a program, and with what came of it. */
export function showPlayground(ctx: Context, { code, language, id, result }: Draft): Promise<Response> {
  const { isolation, playground } = siteOf(ctx)
  prepare(playground)
  const { phase, workers } = isolation
  return renderPage(ctx, 'playground', {
    href: '/playground',
    title: 'Playground',
    description:
      'Write a program and run it here: it gets a virtual machine of its own, which is reset when it is done. Try to break it.',
    scripts: ['playground.js'],
    sources: [
      'routes/playground/run/index.ts',
      'routes/_lib/playground/attempt.ts',
      'routes/playground/run/_middleware.ts',
      'routes/_lib/playground/samples.ts',
      'routes/_lib/playground/editor.ts',
    ],
    data: {
      code,
      isTyped: language === 'ts',
      samples: [
        { name: 'Useful', list: SAMPLES.filter(({ hostile }) => !hostile).map(toShown) },
        { name: 'Hostile', list: SAMPLES.filter(({ hostile }) => hostile).map(toShown) },
      ],
      current: id,
      promise: SAMPLES.find((sample) => sample.id === id)?.promise ?? '',
      result,
      cost: result?.cost === undefined ? undefined : toShownCost(result.cost),
      limits: {
        ...RUN_LIMITS,
        outputKib: RUN_LIMITS.outputBytes >> 10,
        logKib: RUN_LIMITS.logBytes >> 10,
        code: MAX_CODE,
        codeShown: group(MAX_CODE),
      },
      machines: {
        phase: workers ? 'unavailable' : phase,
        isReady: phase === 'ready' && !workers,
        isMissing: phase === 'off' || phase === 'unavailable' || workers,
        text: workers ? `No machine can run here. ${isolation.reason}` : sayPhase(isolation),
      },
    },
  })
}

function toShown({ id, name, language, promise, code }: (typeof SAMPLES)[number]) {
  return { id, name, language, promise, code }
}

function toShownCost({ queue, load, run, reset, pages }: Cost) {
  return {
    queue: toMs(queue),
    load: load === undefined ? '–' : toMs(load),
    run: toMs(run),
    reset: toMs(reset),
    pages,
  }
}
