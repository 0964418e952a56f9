/** The tree of a template. `at` is always an offset into the template's text, in UTF-16 units. */

/** A value that is written in a template. */
export type LiteralValue = string | number | boolean | null | undefined

export type UnaryOperator = '!' | '+' | '-'
export type BinaryOperator =
  | '*'
  | '/'
  | '%'
  | '+'
  | '-'
  | '<'
  | '>'
  | '<='
  | '>='
  | '=='
  | '!='
  | '==='
  | '!=='
export type LogicalOperator = '&&' | '||' | '??'

export type Expression =
  | { readonly type: 'literal'; readonly value: LiteralValue }
  /** A scope key: a name or `@index`, with one `^` in front for every `@parent`. */
  | { readonly type: 'name'; readonly key: string }
  /** `@parent` by itself, `up` loops away. */
  | { readonly type: 'parent'; readonly up: number }
  | { readonly type: 'member'; readonly object: Expression; readonly name: string }
  | { readonly type: 'index'; readonly object: Expression; readonly index: Expression }
  | { readonly type: 'unary'; readonly operator: UnaryOperator; readonly operand: Expression }
  | {
    readonly type: 'binary'
    readonly operator: BinaryOperator
    readonly left: Expression
    readonly right: Expression
  }
  | {
    readonly type: 'logical'
    readonly operator: LogicalOperator
    readonly left: Expression
    readonly right: Expression
  }
  | {
    readonly type: 'choice'
    readonly test: Expression
    readonly yes: Expression
    readonly no: Expression
  }
  | { readonly type: 'filter'; readonly name: string; readonly value: Expression; readonly at: number }

export interface Argument {
  readonly name: string
  readonly value: Expression
}

export interface Branch {
  readonly test: Expression
  readonly body: Node[]
  readonly at: number
}

export interface TextNode {
  readonly type: 'text'
  value: string
}

export interface ValueNode {
  readonly type: 'value'
  readonly value: Expression
  readonly raw: boolean
  readonly at: number
}

export interface IfNode {
  readonly type: 'if'
  readonly branches: Branch[]
  otherwise: Node[] | null
  readonly at: number
}

export interface EachNode {
  readonly type: 'each'
  readonly list: Expression
  readonly item: string
  readonly key: string | null
  readonly body: Node[]
  otherwise: Node[] | null
  readonly at: number
}

export interface IncludeNode {
  readonly type: 'include'
  readonly name: string
  readonly args: Argument[]
  /** Offset of the name. */
  readonly at: number
}

export interface BlockNode {
  readonly name: string
  readonly body: Node[]
  readonly at: number
}

export interface LayoutNode {
  readonly type: 'layout'
  readonly name: string
  readonly args: Argument[]
  readonly blocks: BlockNode[]
  readonly at: number
}

export interface SlotNode {
  readonly type: 'slot'
  readonly name: string
  readonly body: Node[]
  readonly at: number
}

export type Node = TextNode | ValueNode | IfNode | EachNode | IncludeNode | LayoutNode | SlotNode
