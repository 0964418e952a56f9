/**
 * Runs `work` of the public function `entry`; what it throws has a stack that begins at the caller, whose file is the one to fix, so that
 * an uncaught error shows the user's line and not Mayfly's.
 */
// deno-lint-ignore ban-types -- any function or class that V8 may find on the stack
export function blameCaller<T>(entry: Function, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof Error) Error.captureStackTrace(error, entry)
    throw error
  }
}
