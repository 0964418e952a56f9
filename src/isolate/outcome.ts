import { HttpError } from '../errors/http_error.ts'
import type { NativeCompletion } from './ffi/native_pool.ts'
import type { ProgramOptions } from './program.ts'

/** The answer to a request that its machine did not answer. The program's own words stay in the log. */
export function outcomeError(options: ProgramOptions, completion: NativeCompletion): HttpError {
  const cause = completion.message === '' ? undefined : new Error(completion.message)
  switch (completion.outcome) {
    case 'timeout':
      return fail(504, 'isolation-timeout', `The handler took longer than ${options.timeoutMs} ms`)
    case 'cpu':
      return fail(504, 'isolation-timeout', `The handler worked longer than ${options.cpuMs} ms`)
    case 'stuck':
      return fail(504, 'isolation-timeout', 'The handler waits for what can never come')
    case 'memory':
      return fail(507, 'isolation-memory', `The handler used more than ${options.memoryMb} MiB`)
    case 'output':
      return fail(502, 'isolation-output', `The handler wrote more than ${options.outputBytes} bytes`)
    case 'calls': {
      const { systemCalls } = options.limits
      return fail(502, 'isolation-calls', `The handler made more than ${systemCalls} system calls`)
    }
    case 'exited':
      return fail(502, 'isolation-crash', `The handler ended its program with status ${completion.detail}`)
    case 'killed':
      return fail(502, 'isolation-crash', `The handler's program died of signal ${completion.detail}`)
    case 'misbehaved':
      return fail(502, 'isolation-crash', 'The handler gave no valid answer')
    case 'failed':
      return fail(502, 'isolation-crash', 'The virtual machine failed')
    case 'answered':
      throw new TypeError('Cannot make an error of a request that was answered: want another outcome')
  }

  function fail(status: number, type: string, message: string): HttpError {
    return new HttpError(status, message, { type, cause })
  }
}
