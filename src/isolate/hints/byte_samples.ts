/** Bytes of warm-up requests, of the kind that a route file's words tell. */
import { at, is, type Tokens } from './tokens.ts'

/** Small files, base64. */
const FILES = {
  png:
    'iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAYAAACp8Z5+AAAAQElEQVR42mNgsKnY8kEnY8kDmYgpF3g8WhhEAnpOsDjU7PhikLPiiULMDAaNlAV3JEImnOFwadjzw6RgDbqOAwDdcR4BZawD1gAAAABJRU5ErkJggg==',
  gif: 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
  gzip: 'H4sIAAAAAAACAytPLMotLVCwNDI3szDnKieaBwA4ddZ3OAAAAA==',
  zip:
    'UEsDBBQAAAAIAGNL2w44ddZ3EwAAADgAAAAKAAAAd2FybXVwLnR4dCtPLMotLVCwNDI3szDnKieaBwBQSwECFAMUAAAACABjS9sOOHXWdxMAAAA4AAAACgAAAAAAAAAAAAAAgAEAAAAAd2FybXVwLnR4dFBLBQYAAAAAAQABADgAAAA7AAAAAAA=',
  pdf: 'JVBERi0xLjQKJcOkw7zDtsOfCjEgMCBvYmoKPDw+PgplbmRvYmoKdHJhaWxlcgo8PD4+CiUlRU9GCg==',
  cbor: 'omF3GgAOJ8dhYoNmd2FybXVw9ftAIoo9cKPXCg==',
  msgpack: 'gqF3zgAOJ8ehYpOmd2FybXVww8tAIoo9cKPXCg==',
} as const

type ByteKind = keyof typeof FILES

const WORDS: readonly (readonly [kinds: readonly ByteKind[], words: RegExp])[] = [
  [['png'], /png/],
  [['gif'], /\bgif/],
  [['gzip'], /gzip|gunzip|pako|zlib|inflate/],
  [['zip'], /\bj?s?zip/],
  [['pdf'], /pdf/],
  [['cbor'], /cbor/],
  [['msgpack'], /msgpack|messagepack/],
  [['png', 'gif', 'pdf', 'zip', 'gzip'], /file-?type|mime|magic|sniff/],
]

/** The files that a route file's imports tell, as base64; none for most. */
export function findByteSamples(tokens: Tokens): readonly string[] {
  const kinds = new Set<ByteKind>()
  for (const [index, { kind, text }] of tokens.list.entries()) {
    if (kind !== 'text' || !(is(tokens, index - 1, 'from') || at(tokens, index - 1).text === 'import')) {
      continue
    }
    for (const [own, words] of WORDS) {
      if (words.test(text.slice(0, 100).toLowerCase())) own.forEach((each) => kinds.add(each))
    }
  }
  return [...kinds].map((kind) => FILES[kind])
}
