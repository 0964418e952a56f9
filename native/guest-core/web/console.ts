/** The console. https://console.spec.whatwg.org */
import { host } from './host.ts'
import { inspect } from './inspect.ts'
import { tableOf } from './console_table.ts'

/** Makes a console that gives whole texts to `write`. */
export function createConsole(write: (text: string) => void): object {
  const counts = new Map<string, number>()
  const timers = new Map<string, number>()
  let indent = ''
  const print = (...args: unknown[]): void => {
    const text = format(args)
    write(`${indent === '' ? text : indent + text.replaceAll('\n', `\n${indent}`)}\n`)
  }
  const elapsed = (label: string): string =>
    `${label}: ${(host.monotonicMs() - timers.get(label)!).toFixed(3)}ms`
  const console = {
    log: print,
    info: print,
    debug: print,
    warn: print,
    error: print,
    dir: (value: unknown) => print(inspect(value)),
    dirxml: print,
    trace: (...args: unknown[]) => {
      const frames = (new Error().stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)).slice(1)
      print(['Trace', format(args)].filter((part) => part !== '').join(': ') + `\n${frames.join('\n')}`)
    },
    table: (data: unknown, columns?: readonly string[]) => print(tableOf(data, columns) ?? inspect(data)),
    assert: (condition: unknown, ...args: unknown[]) => {
      if (!condition) print(args.length === 0 ? 'Assertion failed' : `Assertion failed: ${format(args)}`)
    },
    count: (label: unknown = 'default') => {
      const name = `${label}`
      counts.set(name, (counts.get(name) ?? 0) + 1)
      print(`${name}: ${counts.get(name)}`)
    },
    countReset: (label: unknown = 'default') => {
      if (!counts.delete(`${label}`)) print(`Count for '${label}' does not exist`)
    },
    time: (label: unknown = 'default') => {
      if (timers.has(`${label}`)) print(`Timer '${label}' already exists`)
      else timers.set(`${label}`, host.monotonicMs())
    },
    timeLog: (label: unknown = 'default', ...args: unknown[]) => {
      if (timers.has(`${label}`)) print(elapsed(`${label}`), ...args)
      else print(`Timer '${label}' does not exist`)
    },
    timeEnd: (label: unknown = 'default') => {
      if (timers.has(`${label}`)) print(elapsed(`${label}`))
      else print(`Timer '${label}' does not exist`)
      timers.delete(`${label}`)
    },
    group: (...args: unknown[]) => {
      if (args.length > 0) print(...args)
      indent += '    '
    },
    groupCollapsed: (...args: unknown[]) => console.group(...args),
    groupEnd: () => {
      indent = indent.slice(4)
    },
    clear: () => {
      indent = ''
    },
    timeStamp: () => {},
    profile: () => {},
    profileEnd: () => {},
  }
  Object.defineProperty(console, Symbol.toStringTag, { value: 'console', configurable: true })
  return console
}

/** Arguments as one line; the first may be a format. */
export function format(args: readonly unknown[]): string {
  const [first, ...rest] = args
  if (typeof first !== 'string' || rest.length === 0 || !first.includes('%')) {
    return args.map(toShown).join(' ')
  }
  let used = 0
  const head = first.replace(/%[sdifjoOc%]/g, (code) => {
    if (code === '%%') return '%'
    if (used >= rest.length) return code
    return toFormatted(code, rest[used++])
  })
  return [head, ...rest.slice(used).map(toShown)].join(' ')
}

function toShown(value: unknown): string {
  return typeof value === 'string' ? value : inspect(value)
}

function toFormatted(code: string, value: unknown): string {
  switch (code) {
    case '%s':
      return toShown(value)
    case '%d':
    case '%i':
      return typeof value === 'bigint'
        ? `${value}n`
        : String(code === '%i' ? parseInt(String(value)) : toNumber(value))
    case '%f':
      return String(typeof value === 'symbol' ? NaN : parseFloat(String(value)))
    case '%j':
      return JSON.stringify(value) ?? 'undefined'
    case '%c':
      return ''
    default:
      return inspect(value)
  }
}

function toNumber(value: unknown): number {
  return typeof value === 'symbol' || (typeof value === 'object' && value !== null) ? NaN : Number(value)
}
