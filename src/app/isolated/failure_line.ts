/** Why a file's program does not load, in one line for the log. */
import { HttpError } from '../../errors/http_error.ts'
import { toLogText } from '../../errors/log_text.ts'

/** The line: it names the file, and the place where its error has one. `project` as `toLogText` takes it. */
export function toFailureLine(file: string, error: Error, project: string | null): string {
  if (error instanceof HttpError || error.message.includes(file)) return error.message
  return `Cannot load ${file}: ${toLogText(error, project).line}`
}
