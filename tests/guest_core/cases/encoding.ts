import { type Cases, caught } from './case.ts'

const BYTES = [0xef, 0xbb, 0xbf, 0x61, 0xe2, 0x82, 0xac, 0xff, 0xf0, 0x9f, 0x98, 0x80]

export const ENCODING: Cases = {
  'TextEncoder: encode': ({ TextEncoder }) => {
    const encoder = new TextEncoder()
    return [
      encoder.encoding,
      encoder.encode('aé€😀'),
      encoder.encode(),
      encoder.encode('\ud800x\udc00'),
      encoder.encode(1 as unknown as string),
    ]
  },
  'TextEncoder: encodeInto': ({ TextEncoder }) =>
    [0, 1, 2, 3, 4, 9, 20].map((size) => {
      const bytes = new Uint8Array(size)
      const { read, written } = new TextEncoder().encodeInto('aé€😀\ud800z', bytes)
      return [read, written, bytes]
    }),
  'TextEncoder: encodeInto wants a Uint8Array': (web) =>
    caught(web, () => new web.TextEncoder().encodeInto('a', new Uint16Array(4) as unknown as Uint8Array)),
  'TextDecoder: UTF-8': ({ TextDecoder }) => new TextDecoder().decode(new Uint8Array(BYTES)),
  'TextDecoder: ignoreBOM': ({ TextDecoder }) =>
    new TextDecoder('utf-8', { ignoreBOM: true }).decode(new Uint8Array(BYTES)),
  'TextDecoder: fatal': (web) => [
    caught(web, () => new web.TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array(BYTES))),
    new web.TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([0xc3, 0xa9])),
  ],
  'TextDecoder: malformed forms': ({ TextDecoder }) =>
    [
      [0x80],
      [0xc0, 0x80],
      [0xe0, 0x80, 0x80],
      [0xed, 0xa0, 0x80],
      [0xf0, 0x82],
      [0xf4, 0x90, 0x80, 0x80],
      [0xe2, 0x82],
      [0xf8],
      [0xc3, 0x41],
    ]
      .map((bytes) => new TextDecoder().decode(new Uint8Array(bytes))),
  'TextDecoder: a stream, byte by byte': ({ TextDecoder }) => {
    const decoder = new TextDecoder()
    const parts = BYTES.map((byte) => decoder.decode(new Uint8Array([byte]), { stream: true }))
    return [parts, decoder.decode()]
  },
  'TextDecoder: malformed forms in a stream': ({ TextDecoder }) =>
    [[[0xe0], [0x80]], [[0xf0, 0x90], [0x41]], [[0xed], [0xa0, 0x80]], [[0xf4], [0x90]], [[0xc3], []], [[
      0xe2,
      0x82,
    ], [0x28]]].map((chunks) => {
      const decoder = new TextDecoder()
      return [
        ...chunks.map((chunk) => decoder.decode(new Uint8Array(chunk), { stream: true })),
        decoder.decode(),
      ]
    }),
  'TextDecoder: a stream ends, and another begins': ({ TextDecoder }) => {
    const decoder = new TextDecoder()
    const mark = new Uint8Array([0xef, 0xbb, 0xbf, 0x61])
    return [
      decoder.decode(mark, { stream: true }),
      decoder.decode(mark, { stream: true }).length,
      decoder.decode(),
      decoder.decode(mark),
      decoder.decode(mark),
    ]
  },
  'TextDecoder: fatal in a stream, and after it': (web) => {
    const decoder = new web.TextDecoder('utf-8', { fatal: true })
    return [
      decoder.decode(new Uint8Array([0xe2]), { stream: true }),
      caught(web, () => decoder.decode()),
      decoder.decode(new Uint8Array([0x61])),
    ]
  },
  'TextDecoder: labels': (web) =>
    [
      'utf8',
      'UTF-8',
      ' unicode-1-1-utf-8\n',
      'ascii',
      'latin1',
      'utf-16',
      'utf-16be',
      'sjis',
      'gbk',
      'x',
      '',
      'replacement',
      'iso-2022-kr',
    ].map((label) => caught(web, () => new web.TextDecoder(label).encoding)),
  'TextDecoder: legacy encodings': ({ TextDecoder }) => [
    new TextDecoder('latin1').decode(new Uint8Array([0x80, 0xe9, 0xff])),
    new TextDecoder('shift_jis').decode(new Uint8Array([0x82, 0xa0, 0x41])),
    new TextDecoder('utf-16le').decode(new Uint8Array([0xff, 0xfe, 0x61, 0, 0x3d, 0xd8, 0, 0xde, 0x62])),
    new TextDecoder('utf-16be').decode(new Uint8Array([0, 0x61, 0xd8])),
    new TextDecoder('koi8-r').decode(new Uint8Array([0xc1, 0xc2])),
  ],
  'TextDecoder: UTF-16 in a stream': ({ TextDecoder }) => {
    const decoder = new TextDecoder('utf-16le')
    const parts = [0xff, 0xfe, 0x61, 0, 0x3d, 0xd8, 0, 0xde].map((byte) =>
      decoder.decode(new Uint8Array([byte]), { stream: true })
    )
    return [parts.join('|'), decoder.decode()]
  },
  'TextDecoder: every kind of buffer': ({ TextDecoder }) => {
    const { buffer } = new Uint8Array([0x61, 0x62, 0x63, 0x64])
    return [buffer, new DataView(buffer, 1, 2), new Uint16Array(buffer, 2, 1)].map((input) =>
      new TextDecoder().decode(input)
    )
  },
  'TextDecoder: what is no buffer': (web) =>
    ['a', 1, null, [1]].map((input) =>
      caught(web, () => new web.TextDecoder().decode(input as unknown as Uint8Array))
    ),
  'TextDecoder: attributes': ({ TextDecoder }) => {
    const { encoding, fatal, ignoreBOM } = new TextDecoder('UTF8', { fatal: 1 as unknown as boolean })
    return [encoding, fatal, ignoreBOM]
  },
  'atob': (web) =>
    ['', 'YQ==', 'YQ', ' Y Q = = ', 'YWI=', 'YWJj', 'YQ=', 'Y', '=', 'YQ===', 'a-b_', '/+A=', 'YR==', 'é']
      .map((text) => caught(web, () => [...web.atob(text)].map((c) => c.charCodeAt(0)))),
  'btoa': (web) =>
    ['', 'a', 'ab', 'abc', '\u00ff\u0080', '\u0100', '😀'].map((text) => caught(web, () => web.btoa(text))),
  'atob and btoa: conversions': (web) => [
    web.btoa(null as unknown as string),
    web.btoa(1.5 as unknown as string),
    web.atob(null as unknown as string).length,
    caught(web, () => (web.atob as unknown as () => void)()),
    caught(web, () => (web.btoa as unknown as () => void)()),
  ],
}
