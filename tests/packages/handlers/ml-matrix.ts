import type { Context } from '@mayfly/mayfly'
import { determinant, EigenvalueDecomposition, inverse, Matrix, solve } from 'ml-matrix'

export const inputs = [
  { json: [[4, 1, 2], [1, 3, 0], [2, 0, 5]] },
  {
    json: Array.from(
      { length: 12 },
      (_, row) => Array.from({ length: 12 }, (_, column) => row === column ? 20 : 1 / (1 + row + column)),
    ),
  },
]

export async function POST(ctx: Context) {
  const matrix = new Matrix(await ctx.get.json<number[][]>())
  const round = (values: readonly number[]) => values.map((value) => value.toFixed(6))
  const right = Matrix.columnVector(Array.from({ length: matrix.rows }, (_, row) => row + 1))
  return ctx.send.json({
    determinant: determinant(matrix).toPrecision(8),
    inverse: round(inverse(matrix).to1DArray()),
    solved: round(solve(matrix, right).to1DArray()),
    eigen: round(new EigenvalueDecomposition(matrix).realEigenvalues.toSorted((a, b) => a - b)),
    product: round(matrix.mmul(matrix.transpose()).getRow(0)),
  })
}
