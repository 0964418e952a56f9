/**
 * Nodes as statements. A function for a string threads `o`, the output so far, through its callees and returns it; a
 * function for a stream is a generator that appends to `s.output` and yields where the stream may flush or must wait.
 */
import type { Argument, EachNode, IfNode, IncludeNode, LayoutNode, Node, SlotNode, ValueNode } from './ast.ts'
import {
  addPlace,
  createLocal,
  emitExpression,
  emitKey,
  type Emitter,
  type Frame,
} from './emit_expression.ts'
import type { Unit } from './program.ts'
import { escapeValue, toText } from './escape.ts'
import { type Binding, createScope, type Scope } from './scope.ts'

/** Most pieces in one statement. */
const MAX_PARTS = 40

/**
 * Most nodes in one JavaScript function. Longer bodies are cut into functions that run one after the other, for the time
 * that V8 takes to compile a generator grows with the square of its length.
 */
const MAX_NODES = 200

/** Appends pending output. Must come before any statement of another kind. */
function flushParts(emitter: Emitter): void {
  const { parts } = emitter
  if (parts.length === 0) return
  const isSafe = parts[0]!.isText || parts.length === 1
  const sum = parts.map((part) => part.code).join('+')
  emitter.lines.push(`${emitter.isStream ? 's.output' : 'o'}+=${isSafe ? '' : '""+'}${sum};`)
  emitter.parts = []
}

function emitLine(emitter: Emitter, line: string): void {
  flushParts(emitter)
  emitter.lines.push(line)
}

function emitPart(emitter: Emitter, code: string, isText: boolean): void {
  emitter.parts.push({ code, isText })
  if (emitter.parts.length >= MAX_PARTS) flushParts(emitter)
}

/** The statements of nodes, appended to `emitter.lines`; all output is flushed at the end. */
export function emitNodes(emitter: Emitter, frame: Frame, scope: Scope | null, nodes: readonly Node[]): void {
  if (nodes.length > MAX_NODES) {
    for (let i = 0; i < nodes.length; i += MAX_NODES) {
      emitLine(emitter, emitter.isStream ? 'yield* function*(){' : 'o=function(o){')
      emitNodes(emitter, frame, scope, nodes.slice(i, i + MAX_NODES))
      emitter.lines.push(emitter.isStream ? '}();' : 'return o}(o);')
    }
    return
  }
  for (const node of nodes) {
    switch (node.type) {
      case 'text':
        emitPart(emitter, JSON.stringify(node.value), true)
        break
      case 'value':
        emitValue(emitter, frame, scope, node)
        break
      case 'if':
        emitIf(emitter, frame, scope, node)
        break
      case 'each':
        if (emitter.isStream) emitStreamLoop(emitter, frame, scope, node)
        else emitLoop(emitter, frame, scope, node)
        break
      case 'include':
        emitInclude(emitter, frame, scope, node)
        break
      case 'layout':
        emitLayout(emitter, frame, scope, node)
        break
      case 'slot':
        emitSlot(emitter, frame, scope, node)
        break
    }
  }
  flushParts(emitter)
}

function emitValue(emitter: Emitter, frame: Frame, scope: Scope | null, node: ValueNode): void {
  if (node.value.type === 'literal') {
    const text = node.raw ? toText(node.value.value) : escapeValue(node.value.value)
    if (text !== '') emitPart(emitter, JSON.stringify(text), true)
    return
  }
  const value = emitExpression(emitter, frame, scope, node.value)
  const isPlain = value.kind === 'number' || value.kind === 'boolean'
  const code = isPlain ? value.code : `${node.raw ? 't' : 'e'}(${value.code})`
  // An object's text may be over its limit, so every value that is not plain has a place.
  if (value.isSafe && isPlain) emitPart(emitter, code, false)
  else emitPart(emitter, `(s.place=${addPlace(emitter, frame.unit, node.at)},${code})`, !isPlain)
}

/** Most branches of a condition that becomes one expression. */
const MAX_CHOICES = 4

/** A condition whose branches are plain text, as a piece of the statement around it: the output grows in fewer steps. */
function emitChoice(emitter: Emitter, frame: Frame, scope: Scope | null, node: IfNode): void {
  let code = ''
  for (const branch of node.branches) {
    const test = emitExpression(emitter, frame, scope, branch.test)
    const place = test.isSafe ? '' : `s.place=${addPlace(emitter, frame.unit, branch.at)},`
    code += `(${place}${test.code})?${JSON.stringify(plainText(branch.body))}:`
  }
  emitPart(emitter, `(${code}${JSON.stringify(plainText(node.otherwise ?? []))})`, true)
}

/** The text of nodes that are nothing but text, or null. */
function plainText(nodes: readonly Node[]): string | null {
  let text = ''
  for (const node of nodes) {
    if (node.type !== 'text') return null
    text += node.value
  }
  return text
}

function isChoice(node: IfNode): boolean {
  return node.branches.length <= MAX_CHOICES && plainText(node.otherwise ?? []) !== null &&
    node.branches.every((branch) => plainText(branch.body) !== null)
}

function emitIf(emitter: Emitter, frame: Frame, scope: Scope | null, node: IfNode): void {
  if (isChoice(node)) return emitChoice(emitter, frame, scope, node)
  // Branches stand one after the other under a label: a chain of else would nest as deep as it is long.
  const label = node.branches.length > 1 ? `b${emitter.nextLocal++}` : null
  if (label !== null) emitLine(emitter, `${label}:{`)
  for (const branch of node.branches) {
    const test = emitExpression(emitter, frame, scope, branch.test)
    const place = test.isSafe ? '' : `s.place=${addPlace(emitter, frame.unit, branch.at)},`
    emitLine(emitter, `if(${place}${test.code}){`)
    emitNodes(emitter, frame, scope, branch.body)
    emitLine(emitter, label === null ? '}' : `break ${label}}`)
  }
  if (node.otherwise !== null) {
    if (label === null) emitLine(emitter, 'else{')
    emitNodes(emitter, frame, scope, node.otherwise)
    if (label === null) emitLine(emitter, '}')
  }
  if (label !== null) emitLine(emitter, '}')
}

/** Statements that `make` appends, kept apart. */
function capture(emitter: Emitter, make: () => void): string[] {
  flushParts(emitter)
  const outer = emitter.lines
  emitter.lines = []
  make()
  flushParts(emitter)
  const inner = emitter.lines
  emitter.lines = outer
  return inner
}

function appendAll(lines: string[], more: readonly string[]): void {
  for (const line of more) lines.push(line)
}

/** A loop over an array by index; anything else is made one first. */
function emitLoop(emitter: Emitter, frame: Frame, scope: Scope | null, node: EachNode): void {
  const id = emitter.nextLocal++
  const [list, keys, index, length, item] = [`l${id}`, `k${id}`, `i${id}`, `n${id}`, `v${id}`]
  const key = `(${keys}===null?${index}:${keys}[${index}])`
  const names = new Map<string, Binding>([
    ['@index', { code: index, kind: 'number' }],
    ['@first', { code: `(${index}===0)`, kind: 'boolean' }],
    ['@last', { code: `(${index}===${length}-1)`, kind: 'boolean' }],
    ['@length', { code: length, kind: 'number' }],
    ['@key', { code: key, kind: 'any' }],
    [node.item, { code: item, kind: 'any' }],
  ])
  if (node.key !== null) names.set(node.key, { code: key, kind: 'any' })
  const inner = createScope(scope, true, names)
  const source = emitExpression(emitter, frame, scope, node.list)
  const place = addPlace(emitter, frame.unit, node.at)
  const body = capture(emitter, () => emitNodes(emitter, frame, inner, node.body))
  const usesKeys = inner.used.has('@key') || (node.key !== null && inner.used.has(node.key))
  emitLine(emitter, `s.place=${place};{let ${list}=${source.code}${usesKeys ? `,${keys}=null` : ''};`)
  const takeKeys = usesKeys ? `${keys}=q.keys;` : ''
  emitter.lines.push(`if(!A(${list})){const q=C(s,${list});${list}=q.values;${takeKeys}}`)
  emitter.lines.push(`const ${length}=${list}.length;s.place=${place};L(s,${length});`)
  emitter.lines.push(`for(let ${index}=0;${index}<${length};${index}++){const ${item}=${list}[${index}];`)
  appendAll(emitter.lines, body)
  emitter.lines.push(`if(o.length>s.maxOutput)V(s,${place});}`)
  if (node.otherwise !== null) {
    emitter.lines.push(`if(${length}===0){`)
    emitNodes(emitter, frame, scope, node.otherwise)
    emitter.lines.push('}')
  }
  emitter.lines.push('}')
}

/** A loop that may wait for its items, and lets the stream flush around and between them. */
function emitStreamLoop(emitter: Emitter, frame: Frame, scope: Scope | null, node: EachNode): void {
  const id = emitter.nextLocal++
  const [cursor, index, item] = [`c${id}`, `i${id}`, `v${id}`]
  const [last, key] = [`a${id}`, `k${id}`]
  const names = new Map<string, Binding>([
    ['@index', { code: index, kind: 'number' }],
    ['@first', { code: `(${index}===0)`, kind: 'boolean' }],
    ['@last', { code: last, kind: 'boolean' }],
    ['@length', { code: `${cursor}.length`, kind: 'any' }],
    ['@key', { code: key, kind: 'any' }],
    [node.item, { code: item, kind: 'any' }],
  ])
  if (node.key !== null) names.set(node.key, { code: key, kind: 'any' })
  const inner = createScope(scope, true, names)
  const source = emitExpression(emitter, frame, scope, node.list)
  const place = addPlace(emitter, frame.unit, node.at)
  const body = capture(emitter, () => emitNodes(emitter, frame, inner, node.body))
  emitLine(emitter, `if(Y(s))yield;s.place=${place};{`)
  emitter.lines.push(
    `const ${cursor}=W(s,${source.code},${inner.used.has('@last')});let ${index}=0;s.loops++;`,
  )
  emitter.lines.push(`try{for(;;${index}++){s.place=${place};const w=${cursor}.advance();`)
  emitter.lines.push(`if(w!==undefined)yield w;if(${cursor}.done)break;`)
  emitter.lines.push(`const ${item}=${cursor}.value,${last}=${cursor}.last,${key}=${cursor}.key;`)
  appendAll(emitter.lines, body)
  emitter.lines.push(`s.place=${place};if(Y(s))yield;}}finally{${cursor}.close()}s.loops--;`)
  if (node.otherwise !== null) {
    emitter.lines.push(`if(${index}===0){`)
    emitNodes(emitter, frame, scope, node.otherwise)
    emitter.lines.push('}')
  }
  emitter.lines.push('if(Y(s))yield;}')
}

/** The scope with the names that an include adds; their values are worked out once, before the call. */
function emitArguments(
  emitter: Emitter,
  frame: Frame,
  scope: Scope | null,
  target: Unit,
  args: readonly Argument[],
  at: number,
): Scope | null {
  if (args.length === 0) return scope
  const names = new Map<string, Binding>()
  for (const arg of args) {
    const value = emitExpression(emitter, frame, scope, arg.value)
    if (!target.free.has(arg.name)) continue
    const local = createLocal(emitter)
    emitLine(emitter, `s.place=${addPlace(emitter, frame.unit, at)};const ${local}=${value.code};`)
    names.set(arg.name, { code: local, kind: value.kind })
  }
  return createScope(scope, false, names)
}

/** The template that a tag names; it is in the program, or the program would not have been built. */
function targetOf(frame: Frame, name: string): Unit {
  const target = frame.unit.references.get(name)
  if (target === undefined) throw new Error(`Cannot emit include: ${name} was not loaded`)
  return target
}

function emitCall(emitter: Emitter, frame: Frame, scope: Scope | null, target: Unit, fills: string): void {
  const values = [...target.free].map((key) => emitKey(frame, scope, key).code)
  const call = `f${target.index}(${['s', ...(emitter.isStream ? [] : ['o']), fills, ...values].join()})`
  emitter.lines.push(emitter.isStream ? `yield* ${call};if(Y(s))yield;` : `o=${call};`)
}

function emitInclude(emitter: Emitter, frame: Frame, scope: Scope | null, node: IncludeNode): void {
  const target = targetOf(frame, node.name)
  emitLine(emitter, '{')
  const inner = emitArguments(emitter, frame, scope, target, node.args, node.at)
  emitLine(emitter, `I(s,${addPlace(emitter, frame.unit, node.at)});`)
  emitCall(emitter, frame, inner, target, 'null')
  emitter.lines.push('s.depth--;}')
}

/**
 * A layout gets its blocks as functions by name. A template that is nothing but a layout tag extends the layout: blocks
 * that it was given itself reach through, and win over its own unless those hold a slot of the same name.
 */
function emitLayout(emitter: Emitter, frame: Frame, scope: Scope | null, node: LayoutNode): void {
  const target = targetOf(frame, node.name)
  const isExtending = isOnlyNode(frame.unit, node)
  emitLine(emitter, '{')
  const fills = createLocal(emitter)
  const inner = emitArguments(emitter, frame, scope, target, node.args, node.at)
  emitLine(emitter, `const ${fills}={__proto__:${isExtending ? 'F' : 'null'},`)
  for (const block of node.blocks) {
    const name = JSON.stringify(`$${block.name}`)
    const isOverridable = isExtending && !hasSlot(block.body, block.name)
    const body = capture(emitter, () => emitNodes(emitter, frame, scope, block.body))
    emitter.lines.push(`[${name}]:${isOverridable ? `F!==null&&F[${name}]||` : ''}`)
    emitter.lines.push(emitter.isStream ? 'function*(){' : 'function(o){')
    appendAll(emitter.lines, body)
    emitter.lines.push(emitter.isStream ? '},' : 'return o},')
  }
  emitter.lines.push('};')
  emitter.lines.push(`I(s,${addPlace(emitter, frame.unit, node.at)});`)
  emitCall(emitter, frame, inner, target, fills)
  emitter.lines.push('s.depth--;}')
}

function isOnlyNode(unit: Unit, node: LayoutNode): boolean {
  return unit.nodes.every((other) => other === node || (other.type === 'text' && other.value.trim() === ''))
}

/** True when `nodes` hold the slot `name` of their own template. */
export function hasSlot(nodes: readonly Node[], name: string): boolean {
  return nodes.some((node) => {
    switch (node.type) {
      case 'slot':
        return node.name === name || hasSlot(node.body, name)
      case 'if':
        return node.branches.some((branch) => hasSlot(branch.body, name)) ||
          (node.otherwise !== null && hasSlot(node.otherwise, name))
      case 'each':
        return hasSlot(node.body, name) || (node.otherwise !== null && hasSlot(node.otherwise, name))
      case 'layout':
        return node.blocks.some((block) => hasSlot(block.body, name))
      default:
        return false
    }
  })
}

function emitSlot(emitter: Emitter, frame: Frame, scope: Scope | null, node: SlotNode): void {
  const fill = `F[${JSON.stringify(`$${node.name}`)}]`
  emitLine(
    emitter,
    `if(F!==null&&${fill}!==undefined){${emitter.isStream ? `yield* ${fill}()` : `o=${fill}(o)`}}`,
  )
  emitter.lines.push('else{')
  emitNodes(emitter, frame, scope, node.body)
  emitter.lines.push('}')
}
