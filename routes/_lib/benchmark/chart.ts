/** Bars with an axis, in the coordinates of an SVG that a view draws. */
import { linearTicks } from '../../../benchmark/ticks.ts'

/** One bar: what it stands for, and its group. */
export interface Bar {
  readonly group: string
  readonly label: string
  readonly value: number
  /** Mayfly's own, not a peer's. */
  readonly isOwn: boolean
}

/** Decades rather than differences: each step of the axis is ten times the one before. */
export type Scale = 'linear' | 'logarithmic'

const LABELS_WIDTH = 190
const BARS_WIDTH = 470
const BAR_HEIGHT = 20
const GROUP_GAP = 18
const AXIS_HEIGHT = 26

/** The chart of `bars`, groups in the order in which they first come; `format` writes the numbers of the axis. */
export function drawBars(bars: readonly Bar[], scale: Scale, format: (value: number) => string) {
  const ticks = scale === 'linear'
    ? linearTicks(Math.max(1, ...bars.map(({ value }) => value)))
    : decades(bars)
  const [first, last] = [ticks[0], ticks[ticks.length - 1]]
  const place = (value: number) =>
    Math.round(
      (scale === 'linear' ? value / last : Math.log(value / first) / Math.log(last / first)) * BARS_WIDTH,
    )
  const groups = [...new Set(bars.map(({ group }) => group))]
  let y = 0
  const drawn = groups.map((name) => {
    const top = y
    const own = bars.filter(({ group }) => group === name).map(({ label, value, isOwn }) => {
      const width = Math.max(1, place(value))
      const bar = { y, width, isOwn, label, labelX: LABELS_WIDTH + width + 8, labelY: y + 13 }
      y += BAR_HEIGHT
      return bar
    })
    y += GROUP_GAP
    return { name, y: top + 14, bars: own }
  })
  const bottom = Math.max(1, y - GROUP_GAP)
  return {
    groups: drawn,
    x: LABELS_WIDTH,
    namesX: LABELS_WIDTH - 12,
    bottom,
    height: bottom + AXIS_HEIGHT,
    ticks: ticks.map((value) => ({
      x: LABELS_WIDTH + place(value),
      y: bottom + 18,
      text: format(value),
    })),
  }
}

/** The powers of ten from below the least bar to above the greatest. */
function decades(bars: readonly Bar[]): number[] {
  const values = bars.map(({ value }) => Math.log10(Math.max(1e-9, value)))
  const first = Math.floor(Math.min(...values))
  const last = Math.max(first + 1, Math.ceil(Math.max(...values)))
  return Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index))
}

/** A whole number with commas between the thousands. */
export function group(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** Microseconds in the unit that reads best. */
export function duration(micros: number): string {
  if (micros < 1000) return `${Number(micros.toPrecision(3))} µs`
  return micros < 1e6
    ? `${Number((micros / 1000).toPrecision(3))} ms`
    : `${Number((micros / 1e6).toPrecision(3))} s`
}
