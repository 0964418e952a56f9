/** What V8 prints when it ends a process for lack of memory. The guest writes the log before it, so that log is scanned once. */

const OUT_OF_MEMORY = ['Fatal JavaScript out of memory', 'Fatal process out of memory']
const BEGINNINGS = ['<--- Last few GCs', '#\n# Fatal ']

/** The log up to V8's last words, or null where they do not mention memory. */
export function beforeLastWords(log: string): string | null {
  if (!OUT_OF_MEMORY.some((words) => log.includes(words))) return null
  const starts = BEGINNINGS.map((words) => log.indexOf(words)).filter((start) => start !== -1)
  if (starts.length === 0) return log
  let end = Math.min(...starts)
  while (end > 0 && log[end - 1] === '\n') end--
  return log.slice(0, end)
}
