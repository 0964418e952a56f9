import { defineWorker } from '../../../src/worker/define_worker.ts'
import { HttpError } from '../../../src/errors/http_error.ts'

interface Job {
  act: string
  value?: unknown
  ms?: number
}

class QuotaError extends Error {
  override name = 'QuotaError'
}

const started: unknown[] = []

export default defineWorker(async (job: Job, task) => {
  started.push(job.value)
  switch (job.act) {
    case 'echo':
      return job.value
    case 'later':
      await new Promise((resolve) => setTimeout(resolve, job.ms))
      return job.value
    case 'started':
      return started.slice(0, -1)
    case 'type-error':
      throw new TypeError('no such thing')
    case 'quota':
      throw new QuotaError('too much')
    case 'http':
      throw new HttpError(418, 'a teapot')
    case 'text':
      throw 'plain text'
    case 'function':
      return () => {}
    case 'move': {
      const buffer = new ArrayBuffer(8)
      task.transfer(buffer)
      return buffer
    }
    case 'loop':
      for (;;);
    case 'hang':
      await new Promise(() => {})
      break
    case 'crash':
      setTimeout(() => {
        throw new Error('crashed on purpose')
      })
      await new Promise(() => {})
  }
  return undefined
})
