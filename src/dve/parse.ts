/** Reads a template into its tree. No recursion over blocks, so depth is bounded by `MAX_BLOCK_DEPTH` alone. */
import type { Argument, BlockNode, EachNode, Expression, IfNode, LayoutNode, Node, SlotNode } from './ast.ts'
import { type Source, TemplateError } from './error.ts'
import { createReader, describe, isOperator, type Reader, readPipe, take, unexpected } from './expression.ts'
import { nextToken, skipSpace } from './lex.ts'

/** Deepest nesting of blocks in one template. */
const MAX_BLOCK_DEPTH = 128

type Opener = IfNode | EachNode | LayoutNode | SlotNode | (BlockNode & { readonly type: 'block' })

/** A block that is not closed yet. `body` is where nodes go now; null inside a layout, which holds blocks only. */
interface Open {
  readonly node: Opener
  body: Node[] | null
  hasElse: boolean
}

/** `errors` is where problems go; null throws the first one. */
interface Parser {
  readonly source: Source
  readonly root: Node[]
  readonly stack: Open[]
  readonly errors: TemplateError[] | null
  /** True when the tag before ended with `~`, so that the next text starts behind its white space. */
  trim: boolean
}

const CLOSERS: Readonly<Record<Opener['type'], string>> = {
  if: '{{/if}}',
  each: '{{/each}}',
  block: '{{/block}}',
  slot: '{{/slot}}',
  layout: '{{/}}',
}
/** The name of a layout or an include without quotes; `~` ends it, for that is the trim mark. */
const BARE_NAME = /[^\s"'`{}~=|<>]+/y
const BLOCK_NAME = /[\p{ID_Start}$_][\p{ID_Continue}$-]*/uy

/**
 * The tree of a template. Throws `TemplateError` at the first problem; with `errors` all problems go there and the tree
 * holds what could be read.
 */
export function parse(source: Source, errors: TemplateError[] | null = null): Node[] {
  const parser: Parser = { source, root: [], stack: [], errors, trim: false }
  const { text } = source
  let at = 0
  while (at < text.length) {
    const open = text.indexOf('{{', at)
    if (open < 0) break
    addText(parser, at, open, hasTrim(text, open))
    at = readTagSafely(parser, open)
  }
  if (at < text.length) addText(parser, at, text.length, false)
  for (const open of parser.stack.toReversed()) {
    report(
      parser,
      new TemplateError(
        `Cannot close block: the template ends, want ${CLOSERS[open.node.type]}`,
        source,
        open.node.at,
      ),
    )
  }
  return parser.root
}

function report(parser: Parser, error: TemplateError): void {
  if (parser.errors === null) throw error
  parser.errors.push(error)
}

function hasTrim(text: string, open: number): boolean {
  return text[open + 2] === '~' || text.startsWith('{{{~', open)
}

function addText(parser: Parser, from: number, to: number, trimEnd: boolean): void {
  let value = parser.source.text.slice(from, to)
  if (parser.trim) value = value.trimStart()
  if (trimEnd) value = value.trimEnd()
  parser.trim = false
  if (value === '') return
  const body = currentBody(parser)
  if (body !== null) {
    const last = body.at(-1)
    if (last?.type === 'text') last.value += value
    else body.push({ type: 'text', value })
  } else if (value.trim() !== '') {
    report(parser, strayError(parser, skipSpace(parser.source.text, from)))
  }
}

function strayError(parser: Parser, at: number): TemplateError {
  return new TemplateError(
    'Cannot place content: a layout tag holds blocks only, want {{#block name}} around it',
    parser.source,
    at,
  )
}

function currentBody(parser: Parser): Node[] | null {
  const open = parser.stack.at(-1)
  return open === undefined ? parser.root : open.body
}

/** Adds a node where content may stand. */
function addNode(parser: Parser, node: Node, at: number): void {
  const body = currentBody(parser)
  if (body === null) throw strayError(parser, at)
  body.push(node)
}

/** Reads the tag at `open` and gives the offset behind it. When errors are collected, a bad tag is skipped. */
function readTagSafely(parser: Parser, open: number): number {
  try {
    return readTag(parser, open)
  } catch (error) {
    if (!(error instanceof TemplateError) || parser.errors === null) throw error
    parser.errors.push(error)
    const { text } = parser.source
    const end = text.indexOf('}}', open)
    keepOpener(parser, open)
    return end < 0 ? text.length : end + 2
  }
}

const OPENER = /\{\{~?\s*#\s*(if|each|slot|block)\b/y

/** Opens the block of a tag that cannot be read, so that its closing tag does not count as a second problem. */
function keepOpener(parser: Parser, at: number): void {
  OPENER.lastIndex = at
  const kind = OPENER.exec(parser.source.text)?.[1]
  if (kind === undefined || parser.stack.length >= MAX_BLOCK_DEPTH) return
  const body: Node[] = []
  const test: Expression = { type: 'literal', value: null }
  const node: Opener = kind === 'if'
    ? { type: 'if', branches: [{ test, body, at }], otherwise: null, at }
    : kind === 'each'
    ? { type: 'each', list: test, item: 'item', key: null, body, otherwise: null, at }
    : { type: kind as 'slot' | 'block', name: '', body, at }
  if (node.type !== 'block') currentBody(parser)?.push(node)
  parser.stack.push({ node, body, hasElse: false })
}

function readTag(parser: Parser, open: number): number {
  const { source } = parser
  const { text } = source
  if (text.startsWith('{{!--', open) || text.startsWith('{{~!--', open)) return readComment(parser, open)
  if (text.startsWith('{{{', open) || text.startsWith('{{~{', open)) return readRaw(parser, open)
  const sign = skipSpace(text, open + (text[open + 2] === '~' ? 3 : 2))
  switch (text[sign]) {
    case '#':
      return readOpener(parser, open, sign + 1)
    case '/':
      return readCloser(parser, open, sign + 1)
    case '>':
    case '<':
      return readReference(parser, open, sign)
  }
  const reader = createReader(source, sign, '}}')
  if (reader.token.kind === 'name' && reader.token.value === 'else') return readElse(parser, reader, open)
  if (reader.token.kind === 'close') throw unexpected(reader, 'an expression')
  const value = readPipe(reader)
  const end = endTag(parser, reader)
  addNode(parser, { type: 'value', value, raw: false, at: sign }, open)
  return end
}

/** Checks that the tag ends here and gives the offset behind it. */
function endTag(parser: Parser, reader: Reader, want = 'the end of the tag'): number {
  const { token } = reader
  if (token.kind !== 'close') throw unexpected(reader, want)
  parser.trim = token.value === '~'
  return token.end
}

function readComment(parser: Parser, open: number): number {
  const { text } = parser.source
  const start = text.indexOf('!--', open) + 3
  const plain = text.indexOf('--}}', start)
  const trimmed = text.indexOf('--~}}', start)
  if (plain < 0 && trimmed < 0) {
    throw new TemplateError('Cannot close comment: want --}}', parser.source, open)
  }
  parser.trim = plain < 0 || (trimmed >= 0 && trimmed < plain)
  return parser.trim ? trimmed + 5 : plain + 4
}

/** `{{{ e }}}`, with trim marks `{{{~ e ~}}}` or `{{~{ e }~}}`. */
function readRaw(parser: Parser, open: number): number {
  const { text } = parser.source
  const start = skipSpace(text, text[open + 3] === '~' || text[open + 2] === '~' ? open + 4 : open + 3)
  const reader = createReader(parser.source, start, '}}}')
  const value = readPipe(reader)
  const end = endTag(parser, reader, '"}}}"')
  addNode(parser, { type: 'value', value, raw: true, at: start }, open)
  return end
}

function push(parser: Parser, node: Opener, body: Node[] | null, at: number): void {
  if (parser.stack.length >= MAX_BLOCK_DEPTH) {
    throw new TemplateError(
      `Cannot open block: blocks nest deeper than ${MAX_BLOCK_DEPTH} (maxNesting)`,
      parser.source,
      at,
      { limit: 'maxNesting' },
    )
  }
  parser.stack.push({ node, body, hasElse: false })
}

function readOpener(parser: Parser, open: number, start: number): number {
  const reader = createReader(parser.source, start, '}}')
  const { token } = reader
  const body: Node[] = []
  if (token.kind === 'name' && (token.value === 'slot' || token.value === 'block')) {
    return readNamedOpener(parser, token.value, open, token.end)
  }
  if (token.kind !== 'name' || (token.value !== 'if' && token.value !== 'each')) {
    throw new TemplateError(
      `Cannot open block: found ${describe(token)}, want if, each, slot or block`,
      parser.source,
      token.at,
    )
  }
  take(reader)
  const { at } = reader.token
  const subject = readPipe(reader)
  let node: IfNode | EachNode
  if (token.value === 'if') {
    node = { type: 'if', branches: [{ test: subject, body, at }], otherwise: null, at: open }
  } else {
    const names = readLoopNames(reader)
    node = { type: 'each', list: subject, ...names, body, otherwise: null, at: open }
  }
  const end = endTag(parser, reader)
  addNode(parser, node, open)
  push(parser, node, body, open)
  return end
}

/** `as item` or `as value, key`. */
function readLoopNames(reader: Reader): { item: string; key: string | null } {
  if (reader.token.kind !== 'name' || reader.token.value !== 'as') return { item: 'item', key: null }
  take(reader)
  const item = readLoopName(reader)
  if (!isOperator(reader, ',')) return { item, key: null }
  take(reader)
  const { at } = reader.token
  const key = readLoopName(reader)
  if (key === item) {
    throw new TemplateError(
      `Cannot name key: ${key} is the value already, want another name`,
      reader.source,
      at,
    )
  }
  return { item, key }
}

const LITERAL_NAMES = new Set(['true', 'false', 'null', 'undefined'])

function readLoopName(reader: Reader): string {
  if (reader.token.kind !== 'name' || LITERAL_NAMES.has(String(reader.token.value))) {
    throw unexpected(reader, 'a name')
  }
  return String(take(reader).value)
}

function readNamedOpener(parser: Parser, type: 'slot' | 'block', open: number, start: number): number {
  const { source } = parser
  const at = skipSpace(source.text, start)
  BLOCK_NAME.lastIndex = at
  const name = BLOCK_NAME.exec(source.text)?.[0]
  if (name === undefined) {
    const reader = createReader(source, at, '}}')
    throw new TemplateError(`Cannot open ${type}: found ${describe(reader.token)}, want a name`, source, at)
  }
  const end = endTag(parser, createReader(source, at + name.length, '}}'))
  const node = { type, name, body: [], at: open }
  if (node.type === 'slot') {
    addNode(parser, node as SlotNode, open)
  } else {
    const outer = parser.stack.at(-1)?.node
    if (outer?.type !== 'layout') {
      throw new TemplateError(
        `Cannot open block: ${name} stands outside a layout tag, want {{< layout}} around it`,
        source,
        open,
      )
    }
    if (outer.blocks.some((block) => block.name === name)) {
      throw new TemplateError(
        `Cannot open block: ${name} is filled already, want one block a name`,
        source,
        at,
      )
    }
    outer.blocks.push(node)
  }
  push(parser, node as Opener, node.body, open)
  return end
}

/** `{{> name a=b}}` and `{{< name a=b}}`. */
function readReference(parser: Parser, open: number, sign: number): number {
  const { source } = parser
  const isLayout = source.text[sign] === '<'
  const at = skipSpace(source.text, sign + 1)
  let name: string
  let end: number
  BARE_NAME.lastIndex = at
  const bare = BARE_NAME.exec(source.text)?.[0]
  if (bare !== undefined) {
    name = bare
    end = at + bare.length
  } else {
    const token = nextToken(source, at, '}}')
    if (token.kind !== 'string' || token.value === '') {
      throw new TemplateError(
        `Cannot read tag: found ${describe(token)}, want the name of a template`,
        source,
        token.at,
      )
    }
    name = String(token.value)
    end = token.end
  }
  const reader = createReader(source, end, '}}')
  const args = readArguments(reader)
  end = endTag(parser, reader, 'name=value or the end of the tag')
  if (isLayout) {
    const node: LayoutNode = { type: 'layout', name, args, blocks: [], at }
    addNode(parser, node, open)
    push(parser, node, null, open)
  } else {
    addNode(parser, { type: 'include', name, args, at }, open)
  }
  return end
}

function readArguments(reader: Reader): Argument[] {
  const args: Argument[] = []
  while (reader.token.kind === 'name') {
    const { at } = reader.token
    const name = readLoopName(reader)
    if (!isOperator(reader, '=')) throw unexpected(reader, `"=" behind ${name}`)
    if (args.some((arg) => arg.name === name)) {
      throw new TemplateError(`Cannot add name: ${name} is given twice`, reader.source, at)
    }
    take(reader)
    args.push({ name, value: readPipe(reader) })
  }
  return args
}

function readElse(parser: Parser, reader: Reader, open: number): number {
  const top = parser.stack.at(-1)
  if (top === undefined || (top.node.type !== 'if' && top.node.type !== 'each')) {
    throw new TemplateError('Cannot place else: it belongs inside #if or #each', parser.source, open)
  }
  if (top.hasElse) {
    throw new TemplateError('Cannot place else: the block has its {{else}} already', parser.source, open)
  }
  take(reader)
  const body: Node[] = []
  if (reader.token.kind === 'name' && reader.token.value === 'if') {
    if (top.node.type !== 'if') {
      throw new TemplateError('Cannot place else if: it belongs inside #if', parser.source, open)
    }
    take(reader)
    const { at } = reader.token
    const test = readPipe(reader)
    const end = endTag(parser, reader)
    top.node.branches.push({ test, body, at })
    top.body = body
    return end
  }
  const end = endTag(parser, reader, '"if" or the end of the tag')
  top.node.otherwise = body
  top.hasElse = true
  top.body = body
  return end
}

function readCloser(parser: Parser, open: number, start: number): number {
  const { source } = parser
  const reader = createReader(source, start, '}}')
  const name = reader.token.kind === 'name' ? String(take(reader).value) : ''
  const end = endTag(parser, reader, 'the name of a block or the end of the tag')
  const top = parser.stack.at(-1)
  const kind = name === '' ? 'layout' : name
  if (top === undefined) {
    throw new TemplateError(`Cannot close block: {{/${name}}} closes nothing`, source, open)
  }
  if (top.node.type === kind) {
    parser.stack.pop()
    return end
  }
  // While errors are collected, a closer of an outer block closes what is open inside it as well.
  const index = parser.stack.findLastIndex((entry) => entry.node.type === kind)
  if (parser.errors !== null && index >= 0) parser.stack.length = index
  throw new TemplateError(
    `Cannot close block: found {{/${name}}}, want ${CLOSERS[top.node.type]}`,
    source,
    open,
  )
}
