/**
 * Code of packages that the bundler does not take, and that a runtime would only meet if it came there: a module in another language behind
 * a condition (`react-native-fs`), a `require` of a computed path with nothing at all in its place. A build that fails of them is made anew, in
 * which they fail when they are reached.
 */
import { isPackageFile } from '../resolve/deno_resolve.ts'
import { throwingModule } from '../resolve/missing_module.ts'

/** A complaint of esbuild's; lines count from 1, columns in bytes from 0. */
interface Complaint {
  readonly text: string
  readonly location: {
    readonly file: string
    readonly namespace: string
    readonly line: number
    readonly column: number
    readonly lineText: string
  } | null
}

/** A computed path that no file has. */
const NOTHING_THERE = /^Could not resolve (?:require|import)\(/
/** What esbuild says of texts that it cannot read as JavaScript; what is wrong between modules is another matter. */
const UNREADABLE = /^(?:Expected|Unexpected|Unterminated|Invalid|Syntax error|Cannot use "|Top-level await)/

/** What the builds of one bundle have complained about. */
export class UntakenCode {
  /** Why, by the paths of modules. */
  readonly #unreadable = new Map<string, string>()
  /** Where calls have their argument, by the paths of modules and the numbers of lines. */
  readonly #calls = new Map<string, Map<number, Set<number>>>()

  /** Notes what a build failed of. Resolves to whether another build comes further: all of it is of packages, and some of it new. */
  async note(error: unknown): Promise<boolean> {
    const { errors = [] } = ((error as Error).cause ?? {}) as { errors?: readonly Complaint[] }
    let isNew = false
    for (const { text, location } of errors) {
      if (location === null || !['', 'file'].includes(location.namespace)) return false
      const path = location.file.startsWith('/') ? location.file : `/${location.file}`
      if (!await isPackageFile(path)) return false
      if (NOTHING_THERE.test(text)) isNew = this.#noteCall(path, location.line, location.column) || isNew
      else if (!UNREADABLE.test(text)) return false
      else if (!this.#unreadable.has(path)) {
        isNew = true
        this.#unreadable.set(path, `${text} (line ${location.line})`)
      }
    }
    return isNew
  }

  #noteCall(path: string, line: number, column: number): boolean {
    const lines = this.#calls.get(path) ?? new Map<number, Set<number>>()
    this.#calls.set(path, lines)
    const columns = lines.get(line) ?? new Set<number>()
    lines.set(line, columns)
    if (columns.has(column)) return false
    columns.add(column)
    return true
  }

  /** The text of a module that throws, in the place of one that cannot be read; null for any other. */
  replacementOf(path: string): string | null {
    const why = this.#unreadable.get(path)
    if (why === undefined) return null
    const name = path.slice(path.lastIndexOf('/') + 1)
    return throwingModule(
      `Cannot load '${name}': it is no JavaScript: ${why}`,
      'ERR_UNKNOWN_MODULE_FORMAT',
    )
  }

  /** The module as esbuild gets it, in which calls that it complained of are none that it looks at. */
  withoutCalls(path: string, text: string): string {
    const found = this.#calls.get(path)
    if (found === undefined) return text
    const [encoder, decoder] = [new TextEncoder(), new TextDecoder()]
    return text.split('\n').map((line, index) => {
      const columns = [...found.get(index + 1) ?? []].sort((a, b) => b - a)
      return columns.reduce((line, column) => {
        const bytes = encoder.encode(line)
        const [before, after] = [bytes.subarray(0, column), bytes.subarray(column)].map((part) =>
          decoder.decode(part)
        )
        // An expression is none of esbuild's calls of `require`.
        return before!.replace(/\brequire(\s*\(\s*)$/, '(0, require)$1') + after
      }, line)
    }).join('\n')
  }
}
