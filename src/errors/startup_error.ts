/**
 * A fault of configuration or surroundings that keeps the server from starting: a missing folder, a port in use, two
 * files with one pattern. Its message names the cause and the remedy, and it has no stack: there is nothing to debug.
 */
export class StartupError extends Error {
  override readonly name = 'StartupError'

  constructor(message: string) {
    super(message)
    this.stack = `StartupError: ${message}`
  }
}
