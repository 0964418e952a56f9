/** The guest's console. Everything goes to fd 2, as fd 1 carries frames, and no more than a request's share of it. */
import { host } from './host.ts'

const encoder = new TextEncoder()
/** Bytes that one request may write to the console; the host counts by itself what is over. */
let share = 65_536
let left = share

/** Sets every request's share. */
export function limitConsole(bytes: number): void {
  share = bytes
}

/** Gives the next request its share. */
export function openConsole(): void {
  left = share
}

/** Replaces the console, and the other ways to standard output by those to standard error. */
export function installConsole(): void {
  host.installConsole(write)
}

function write(text: string): void {
  if (left < 0) return
  // One byte over the share shows the host that there was more.
  const bytes = encoder.encode(text).subarray(0, left + 1)
  left -= bytes.length
  for (let sent = 0; sent < bytes.length;) sent += host.log(bytes.subarray(sent))
}
