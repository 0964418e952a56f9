/**
 * A search of all that the machines of this process hold: the files of bases and snapshots, and the private pages of every machine,
 * whether it runs, is parked or was reset. The host's kernel gives them, so no machine is stopped for it.
 */

import { Buffer } from 'node:buffer'

/** What native/vmm calls guest memory. */
const NAME = '/memfd:mayfly-guest '
const PAGE = 4096
/** In an entry of `/proc/self/pagemap`: the page is in memory or swapped out, and it is no copy of one's own but its file's. */
const [PRESENT, SWAPPED, OF_FILE] = [1n << 63n, 1n << 62n, 1n << 61n]
/** Of `lseek`. */
const [SEEK_DATA, SEEK_HOLE] = [3, 4]
/** Bytes that are read at a time. */
const PART = 1 << 20

/** What was searched, and where the text was. */
export interface GuestMemory {
  readonly files: number
  /** Pages that machines have written. */
  readonly pages: number
  readonly found: readonly ('snapshot' | 'machine')[]
}

/** Searches guest memory for a text, of one byte or of two bytes a letter. */
export function searchGuestMemory(text: string): GuestMemory {
  const needles = [text, text.replace(/(?!^)/g, '\0')].map((needle) => new TextEncoder().encode(needle))
  const hasText = (bytes: Uint8Array) => needles.some((needle) => indexOf(bytes, needle) >= 0)
  const files = [...guestFiles()]
  const found = new Set<'snapshot' | 'machine'>()
  for (const path of files) {
    using file = Deno.openSync(path)
    for (const part of partsOf(file, writtenRuns(path))) if (hasText(part)) found.add('snapshot')
  }
  using memory = Deno.openSync('/proc/self/mem')
  const runs = [...ownPages()]
  for (const part of partsOf(memory, runs)) if (hasText(part)) found.add('machine')
  const pages = runs.reduce((sum, [start, end]) => sum + (end - start) / PAGE, 0)
  return { files: files.length, pages, found: [...found] }
}

/** Each file once: its descriptor's path. */
function guestFiles(): Iterable<string> {
  const byInode = new Map<number | null, string>()
  for (const { name } of Deno.readDirSync('/proc/self/fd')) {
    const path = `/proc/self/fd/${name}`
    try {
      if (Deno.readLinkSync(path).startsWith(NAME)) byInode.set(Deno.statSync(path).ino, path)
    } catch (error) {
      // The descriptor by which the folder was read.
      if (!(error instanceof Deno.errors.NotFound)) throw error
    }
  }
  return byInode.values()
}

/** What of a file was ever written: memory that grows as it is used is mostly holes. */
function* writtenRuns(path: string): Generator<[start: number, end: number]> {
  const libc = Deno.dlopen('libc.so.6', {
    lseek: { parameters: ['i32', 'i64', 'i32'], result: 'i64' },
  })
  const { lseek } = libc.symbols
  try {
    const descriptor = Number(path.slice(path.lastIndexOf('/') + 1))
    for (let end = 0n;;) {
      const start = lseek(descriptor, end, SEEK_DATA)
      if (start < 0n) return
      end = lseek(descriptor, start, SEEK_HOLE)
      yield [Number(start), Number(end)]
    }
  } finally {
    libc.close()
  }
}

/**
 * The private mappings of guest memory: copies of snapshots, and behind them memory without a file, which machines get as they grow. The
 * host's kernel has no name for that. It is the only memory of this process that may have no huge pages, and takes no reserve.
 */
function* guestMappings(): Generator<[start: number, end: number]> {
  let mapping: { start: number; end: number; shared: boolean; name: string } | undefined
  for (const line of Deno.readTextFileSync('/proc/self/smaps').split('\n')) {
    const head = /^(\w+)-(\w+) \S{3}([sp]) \S+ \S+ \d+ *(.*)$/.exec(line)
    if (head !== null) {
      const [, from, to, shared, name] = head
      mapping = {
        start: parseInt(from!, 16),
        end: parseInt(to!, 16),
        shared: shared === 's',
        name: `${name} `,
      }
      continue
    }
    if (mapping === undefined || !line.startsWith('VmFlags:')) continue
    const flags = line.split(' ')
    const { start, end, shared, name } = mapping
    // Shared pages are the file's, which is searched.
    if (shared) continue
    if (name.startsWith(NAME) || (name === ' ' && flags.includes('nh') && flags.includes('nr'))) {
      yield [start, end]
    }
  }
}

/** Runs of pages, by address, of mappings of guest memory that are copies of a machine's own or of a file that is written in place. */
function* ownPages(): Generator<[start: number, end: number]> {
  using pagemap = Deno.openSync('/proc/self/pagemap')
  for (const [start, end] of guestMappings()) {
    const entries = new BigUint64Array((end - start) / PAGE)
    pagemap.seekSync((start / PAGE) * 8, Deno.SeekMode.Start)
    readUpTo(pagemap, new Uint8Array(entries.buffer))
    let begin = -1
    for (let at = 0; at <= entries.length; at++) {
      const entry = entries[at] ?? 0n
      const isOwn = (entry & (PRESENT | SWAPPED)) !== 0n && (entry & OF_FILE) === 0n
      if (isOwn && begin < 0) begin = at
      if (isOwn || begin < 0) continue
      yield [start + begin * PAGE, start + at * PAGE]
      begin = -1
    }
  }
}

/** The bytes of runs, in parts that overlap by a page, so that no text is cut. */
function* partsOf(file: Deno.FsFile, runs: Iterable<readonly [number, number]>): Generator<Uint8Array> {
  const buffer = new Uint8Array(PART + PAGE)
  for (const [start, end] of runs) {
    for (let at = start; at < end; at += PART) {
      const part = buffer.subarray(0, Math.min(end - at, buffer.length))
      file.seekSync(at, Deno.SeekMode.Start)
      yield part.subarray(0, readUpTo(file, part))
    }
  }
}

/** Fills the part, and gives fewer bytes where a file has ended or a machine was closed meanwhile. */
function readUpTo(file: Deno.FsFile, into: Uint8Array): number {
  let at = 0
  try {
    for (let read = 1; at < into.length && read > 0; at += read) read = file.readSync(into.subarray(at)) ?? 0
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EIO') throw error
  }
  return at
}

/** `Buffer.indexOf` is the runtime's own code, and quick. */
function indexOf(bytes: Uint8Array, needle: Uint8Array): number {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(needle)
}
