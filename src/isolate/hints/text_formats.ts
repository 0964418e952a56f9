/** Texts of a format: emails, dates, numbers of cards. They can be told from a user's where the format allows. */

/** For the turns in order; the last is the probe's. */
export type Samples = readonly string[]

/** Formats that have samples. */
export type TextFormat = keyof typeof FORMAT_SAMPLES

/** Samples by format. Numbers are small: work grows with them. */
const FORMAT_SAMPLES = {
  number: ['9', '27', '6', '8.7', '62', '5'],
  date: [
    '1987-06-27',
    '1987-06-27T09:27:06Z',
    '1987-06-28',
    '1987-09-27T06:27:00+02:00',
    '1987-09-27',
    '2001-02-03',
  ],
  day: ['1987-06-27', '1987-06-28', '2000-02-29', '1987-12-31', '2001-02-03'],
  datetime: [
    '1987-06-27T09:27:06Z',
    '1987-06-27T09:27:06.927Z',
    '1987-06-28T00:00:00+02:00',
    '2000-02-29T23:59:59Z',
    '2001-02-03T04:05:06Z',
  ],
  time: ['09:27:06', '09:27', '23:59:59', '00:00:00', '05:06'],
  email: [
    'a@warmup.example',
    'b.c@warmup.example',
    'd@warmup.example',
    'e+f@warmup.example',
    'h@warmup.example',
    'g@probe.example',
  ],
  url: [
    'https://warmup.example/',
    'https://warmup.example/a?b=927687',
    'http://warmup.example:8080/#a',
    '/warmup/grüße',
    'https://warmup.example:8443/c',
    'https://probe.example/',
  ],
  locale: ['en', 'en-US', 'de', 'fr', 'es', 'it'],
  country: ['US', 'DE', 'AT', 'FR', 'IT'],
  currency: ['EUR', 'USD', 'JPY', 'GBP', 'CHF'],
  language: ['en', 'typescript', 'de', 'html', 'javascript', 'it'],
  phone: ['+49 221 9276870', '(212) 555-0127', '0664 9276870', '+1 212 555 0187', '+39 06 927687'],
  uuid: [
    '92768700-0000-4000-8000-000000927687',
    '92768700-0000-4000-9000-0000009276870'.slice(0, 36),
    '92768700-927a-4bcd-8ef0-123456927687',
    '01890a5d-ac96-774b-bcce-b302099a8057',
    '77623000-0000-4000-8000-000000077623',
  ],
  ip: ['192.0.2.7', '198.51.100.27', '2001:db8::9276:87', '192.0.2.9', '203.0.113.5'],
  zip: ['92768', '50667', '10115', '9276', '12345'],
  iban: [
    'DE89370400440532013000',
    'GB82WEST12345698765432',
    'AT611904300234573201',
    'DE00warmup',
    'FR1420041010050500013M02606',
  ],
  card: ['4111111111111111', '5555555555554444', '378282246310005', '4927687', '4012888888881881'],
  color: ['#927687', 'red', 'rgb(9, 27, 68)', 'hsl(270 50% 60%)', '#776230'],
  encoding: ['utf-8', 'windows-1252', 'utf-16le', 'shift_jis', 'koi8-r'],
  version: ['9.2.7', '1.2.3-beta.4+warmup', 'v0.9.27', '10.0.0', '7.7.6'],
  range: ['^2.1.0 || >=4.0.0-rc.1 <9', '~9.2', '1.x', '>=1.0.0 <2.0.0 || 5', '*'],
  password: ['warmup927687', 'Warmup-927687!', 'grüße927687', 'abc927687', 'probe77623'],
  base64: ['d2FybXVw', 'OTI3Njg3', 'Z3LDvMOfZSB3YXJtdXA=', 'AAECAwQFBgc=', 'cHJvYmU='],
  hex: ['92768700', '00ff9276', 'deadbeef927687aa', '7761726d7570', '70726f6265'],
  token: [
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ3YXJtdXAifQ.AA',
    'warmup-927687',
    'bearer warmup',
    '92768700deadbeef',
    'probe',
  ],
  glob: ['*', 'warmup:*,-warmup:b', '**/*.{js,ts}', '[a-z]?*', '!probe*'],
  path: ['/warmup/927687', 'warmup/grüße.txt', '/a/b/../c.html', './warmup.json', '/probe'],
  regexp: ['^warm(up)?$', '[0-9]+-\\d{2}', 'a|b', '(?<n>\\w+)\\s*', 'p.*'],
  level: ['info', 'error', 'warn', 'debug', 'trace'],
  cron: ['*/9 * * * *', '0 9 27 6 *', '0 0 * * 1-5', '27 9 * * MON', '5 4 * * *'],
  rrule: [
    'FREQ=DAILY;COUNT=9',
    'FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;COUNT=6',
    'FREQ=MONTHLY;BYMONTHDAY=27;COUNT=6',
    'FREQ=YEARLY;BYMONTH=6;BYDAY=-1FR;COUNT=9',
    'FREQ=DAILY;COUNT=5',
  ],
} as const satisfies Readonly<Record<string, Samples>>

/** Formats by the name of what has them, and by what schemas call them; the first that fits counts. */
const NAMES: readonly (readonly [format: TextFormat, name: RegExp])[] = [
  ['datetime', /^(?:date-?time|timestamp|iso)$/i],
  ['time', /^time$/i],
  ['date', /^(?:from|to|since|until|start|end|when|day|at|birth|born|birthday)$|date|time|_at$/i],
  ['date', /[a-z]At$/],
  [
    'number',
    /^(?:n|num|count|limit|page|size|offset|skip|take|max|min|width|height|year|years|age|amount|price|rate|tax|total|qty|quantity|days|hours|index|lat|lng|lon|x|y|points|principal|weight|score|percent)$/i,
  ],
  ['email', /mail/i],
  ['phone', /phone|mobile|^(?:tel|fax|number)$/i],
  ['url', /^(?:href|link|uri|site|website|homepage|url)$|url$/i],
  ['locale', /^(?:locale|lng)$/i],
  ['language', /^(?:lang|language|syntax|grammar)$/i],
  ['country', /^country(?:code)?$/i],
  ['currency', /^currency$/i],
  ['uuid', /^(?:uuid|guid)$/i],
  ['ip', /^(?:ip|ipv4|ipv6|host)$/i],
  ['zip', /^(?:zip|zipcode|postcode|postal(?:code)?|plz)$/i],
  ['iban', /^iban$/i],
  ['card', /^(?:card|creditcard|cardnumber|pan)$/i],
  ['color', /colou?r$/i],
  ['encoding', /^(?:encoding|charset|enc)$/i],
  ['version', /^versions?$|semver/i],
  ['range', /^range$/i],
  ['password', /password|^(?:pass|pwd|passphrase)$/i],
  ['base64', /base64/i],
  ['hex', /^(?:hex|hash|digest|bytes|key|nonce|iv)$/i],
  ['token', /^(?:token|jwt|bearer)$/i],
  ['path', /^(?:path|file|filename|pathname)$/i],
  ['glob', /^(?:enable|globs?|include|exclude|ignore|namespaces?|mask)$/i],
  ['regexp', /^(?:pattern|regexp?)$/i],
  ['level', /^(?:log-?)?level$|^severity$/i],
  ['cron', /^(?:cron|schedule)$/i],
  ['rrule', /^(?:rrule|rule)$/i],
]

/** What packages work on whose parameters are often called by two ends: from one colour to another. */
const TOPICS: readonly (readonly [format: TextFormat, packages: RegExp])[] = [
  [
    'color',
    /^(?:npm:)?(?:chroma-js|tinycolor2?|culori|colord?|d3-color|color-convert|colorjs\.io|polished)(?:[@/]|$)/,
  ],
  [
    'encoding',
    /^(?:npm:)?(?:iconv-lite|iconv|encoding|encoding-japanese|legacy-encoding|jschardet)(?:[@/]|$)/,
  ],
]
const ENDS = /^(?:from|to|source|target|start|end|base)$/i
const IMPORT = /\b(?:from|import|require\()\s*(['"])([\w@/.:-]{1,100})\1/g

/** What the names of two ends stand for in a source, by the packages that it imports; undefined for most sources. */
export function endsFormatOf(source: string): TextFormat | undefined {
  const names = Array.from(source.matchAll(IMPORT), ([, , name]) => name!)
  return TOPICS.find(([, packages]) => names.some((name) => packages.test(name)))?.[0]
}

/** Whether a name is that of one of two ends. */
export function isEnd(name: string): boolean {
  return ENDS.test(name)
}

/** The format that a name tells; undefined for most. */
export function formatOf(name: string): TextFormat | undefined {
  return NAMES.find(([, names]) => names.test(name))?.[0]
}

/** The sample of a format for a turn; that of the probe for `-1`. */
export function sampleFormat(format: TextFormat, turn: number): string {
  const samples: Samples = FORMAT_SAMPLES[format]
  return samples[turn < 0 ? samples.length - 1 : turn % (samples.length - 1)]!
}
