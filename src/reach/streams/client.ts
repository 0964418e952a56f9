/** Clients that leave before they have their answer. */
/**
 * Calls `left` once nobody waits for the answer to a request any more; the result ends that. The signal of a server's request costs
 * much of what a brief one does: only who takes long should be asked about.
 */
export function onLeave({ signal }: Request, left: () => void): () => void {
  if (signal.aborted) left()
  else signal.addEventListener('abort', left)
  return () => signal.removeEventListener('abort', left)
}
