import { defineWorker } from '../../../src/worker/define_worker.ts'

export default defineWorker((value: number) => {
  if (value < 0) throw new RangeError(`negative: ${value}`)
  return { value: value * 2 }
})
