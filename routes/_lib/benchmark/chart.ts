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

/** Where the parts of a chart stand, in units of its SVG. */
interface Frame {
  readonly width: number
  /** Where the bars begin. */
  readonly x: number
  readonly barsWidth: number
  /** Height of the line on which a group's name stands above its bars; 0 writes it to the left of them. */
  readonly nameHeight: number
  /** 2 draws every second tick of a linear axis. */
  readonly everyTick: number
}

const WIDE: Frame = { width: 860, x: 190, barsWidth: 470, nameHeight: 0, everyTick: 1 }
const NARROW: Frame = { width: 340, x: 18, barsWidth: 192, nameHeight: 20, everyTick: 2 }
const BAR_HEIGHT = 20
const GROUP_GAP = 18
const AXIS_HEIGHT = 26

/** The charts of `bars`, for a page and for a phone; `format` writes the numbers of the axis. */
export function drawCharts(bars: readonly Bar[], scale: Scale, format: (value: number) => string) {
  return { wide: drawBars(bars, scale, format), narrow: drawBars(bars, scale, format, NARROW) }
}

/** The chart of `bars`, groups in the order in which they first come; `format` writes the numbers of the axis. */
export function drawBars(
  bars: readonly Bar[],
  scale: Scale,
  format: (value: number) => string,
  frame: Frame = WIDE,
) {
  const ticks = scale === 'linear'
    ? linearTicks(Math.max(1, ...bars.map(({ value }) => value)))
    : decades(bars)
  const [first, last] = [ticks[0], ticks[ticks.length - 1]]
  const place = (value: number) =>
    Math.round(
      (scale === 'linear' ? value / last : Math.log(value / first) / Math.log(last / first)) *
        frame.barsWidth,
    )
  const step = scale === 'linear' ? frame.everyTick : 1
  const groups = [...new Set(bars.map(({ group }) => group))]
  let y = 0
  const drawn = groups.map((name) => {
    const top = y
    y += frame.nameHeight
    const own = bars.filter(({ group }) => group === name).map(({ label, value, isOwn }) => {
      const width = Math.max(1, place(value))
      const bar = { y, width, isOwn, label, labelX: frame.x + width + 8, labelY: y + 13 }
      y += BAR_HEIGHT
      return bar
    })
    y += GROUP_GAP
    return { name, y: top + 14, bars: own }
  })
  const bottom = Math.max(1, y - GROUP_GAP)
  return {
    groups: drawn,
    width: frame.width,
    x: frame.x,
    ...frame.nameHeight === 0
      ? { namesX: frame.x - 12, namesEnd: 'end' }
      : { namesX: frame.x, namesEnd: 'start' },
    bottom,
    height: bottom + AXIS_HEIGHT,
    ticks: ticks.filter((_, index) => index % step === 0).map((value) => ({
      x: frame.x + place(value),
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
