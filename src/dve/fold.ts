/** Works out at compile time what does not depend on data. */
import type { Expression, LiteralValue } from './ast.ts'
import { binaryOperators, negate, toNumber } from './operators.ts'

/** The expression, or the literal that it comes to. Only the outermost node is looked at: parts are folded already. */
export function fold(expression: Expression): Expression {
  switch (expression.type) {
    case 'unary': {
      if (expression.operand.type !== 'literal') return expression
      const { value } = expression.operand
      if (expression.operator === '!') return literal(!value)
      return literal((expression.operator === '-' ? negate(value) : toNumber(value)) as LiteralValue)
    }
    case 'binary': {
      const { left, right, operator } = expression
      if (left.type !== 'literal' || right.type !== 'literal') return expression
      return literal(binaryOperators[operator](left.value, right.value) as LiteralValue)
    }
    case 'logical': {
      const { left, right, operator } = expression
      if (left.type !== 'literal') return expression
      if (operator === '&&') return left.value ? right : left
      if (operator === '||') return left.value ? left : right
      return left.value === null || left.value === undefined ? right : left
    }
    case 'choice': {
      if (expression.test.type !== 'literal') return expression
      return expression.test.value ? expression.yes : expression.no
    }
    default:
      return expression
  }
}

function literal(value: LiteralValue): Expression {
  return { type: 'literal', value }
}
