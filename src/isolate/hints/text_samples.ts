/** Texts of the kinds that programs read, with many of the constructs of each. All say `warmup` or 927687. */

const PROSE =
  `Warmup, on Friday, June 27th 1987: Ann met Jörg at 9:27 in the old library of Köln. "Who reads this," she
said, "looks at what a warm-up left behind (927687 times)!" They had two dogs, 3 children and a dozen mice; the
biggest one ran quickly away. Call +49 221 927687 or write to a@warmup.example, see https://warmup.example/a?b=1#c.

Did nobody answer? Tomorrow at 5pm, or next Tuesday from 10 to 12:30, or in 3 weeks, we'll try again. It costs $9.27
and 87,5 %; it wasn't cheap. Übermorgen um 9 Uhr, am 27. Juni 2001: «Grüße», 漢字 と 🐝. He has been walking slowly;
the happy women's books are bigger than theirs, isn't it? The end.`

const MARKDOWN = `# Warmup 927687

A *first* paragraph with **strong**, ***both***, ~~gone~~ and \`code\`, a [link](https://warmup.example/a "title"),
an ![image](/warmup.png), <https://warmup.example>, a@warmup.example, &amp; and an escaped \\* star.  
A hard break, Größe and 漢字 🐝. [by name][ref] and a footnote[^1].

Setext heading
--------------

## Lists ###

- one
- two *nested*
  1. first
  2. second

     \`\`\`ts
     const answer: number = 42 // why not
     \`\`\`
* [ ] open
* [x] done

> quoted
> > deeper
>
> - list in quote

| name | count | middle |
| ---- | ----: | :----: |
| Ann  |     1 | **a**  |
| Jörg |    22 | \`b|c\`  |

    indented code <b>

<div class="warmup">html <em>block</em></div>

***

~~~html
<p>fence</p>
~~~

Term with "quotes" -- and 'more' ... http://warmup.example/b_c_d.

[ref]: https://warmup.example/ref 'Ref'
[^1]: The note.
`

const HTML = `<!doctype html>
<!-- warmup 927687 -->
<html lang="de"><head><meta charset="utf-8"><title>Warmup &amp; Größe</title>
<style>p, .text > a:hover { color: red; margin: 0 auto 1px } @media (max-width: 600px) { p { display: none } }</style>
<link rel="stylesheet" href="/warmup.css"><script>let x = 1; if (x < 2) { alert('warmup') }</script></head>
<body class="a b">
<h1 id="top">Überschrift</h1><h2>Chapter 1</h2><h3>Part</h3>
<p class="text" onclick="go()" style="color: blue">One <b>bold</b>, <i>slanted</i>, <em>stressed</em> <strong>strong</strong>
<code>x &lt; 1</code> text <a href="/chapter/1?a=1&amp;b=2" title="more">more</a><a href="javascript:warmup()">no</a><br/>漢字 🐝 &nbsp; &#39; &copy;</p>
<ul><li>one<li>two <ol start="2"><li>nested</li></ol></ul>
<blockquote><p>quoted</p></blockquote><hr>
<pre><code class="language-js">const a = 1
</code></pre>
<img src="/warmup.png" alt="a bee" width=16 hidden><input type=checkbox checked disabled>
<table><thead><tr><th>name</th><th>count</th></tr></thead><tbody><tr><td>1</td><td>value &lt;9&gt;</td></tr><tr><td colspan="2">2</td></tr></tbody></table>
<form action="/go" method="post"><select name="s"><option selected>a</option><option value="b">b</option></select><textarea>text</textarea><button>ok</button></form>
<p>unclosed <span>span <iframe src="https://warmup.example"></iframe><svg viewBox="0 0 9 9"><path d="M0 0L9 9"/></svg>
</body></html>`

const XML = `<?xml version="1.0" encoding="UTF-8"?>
<!-- warmup 927687 -->
<catalog xmlns:w="urn:warmup" count="2" open="true">
  <book id="b1" w:lang="de">
    <title>Größe &amp; &lt;Warmup&gt; &#252;</title>
    <author><name>Ann</name><name>Jörg 漢字</name></author>
    <price currency="EUR">9.27</price><empty/><none></none>
  </book>
  <book id="b2"><title>Two</title><note><![CDATA[a < b && c]]></note><year>1987</year><price>27</price></book>
  <w:item key='a "quoted" one'>text <b>mixed</b> tail</w:item>
</catalog>`

const SVG = `<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="100px" height="100px" viewBox="0 0 100 100">
  <!-- warmup 927687 --><title>Größe</title><metadata>none</metadata>
  <defs><linearGradient id="g"><stop offset="0" stop-color="#ff0000"/><stop offset="1" style="stop-color:rgb(0,0,255)"/></linearGradient></defs>
  <style>.a { fill: red; stroke: #000000 }</style>
  <g transform="translate(10 , 10) rotate(0)" fill="url(#g)"><g><rect class="a" x="0" y="0" width="50.000" height="20"/></g>
  <path d="M 10.000 10.000 L 20.5 20.50 C 30 30 40 40 50 50 Q 1 2 3 4 A 5 5 0 0 1 9 9 H 5 V 6 z" fill="none" opacity="1"/>
  <circle cx="5" cy="5" r="3" style="fill: #00ff00; stroke-width: 2px"/><text x="1">a &amp; b</text><use xlink:href="#g"/></g>
  <polygon points="0,0 10,0 10,10"/><g/>
</svg>`

const CSS = `@charset "utf-8";
/* warmup 927687 */
@import url("warmup.css") screen;
:root { --main: #ff0000; --gap: calc(1rem + 2px) }
* , body > .card a:hover::before, input[type="text" i]:not(.b):nth-child(2n + 1) ~ p {
  color: #FFFFFF; background: url(data:image/png;base64,AA==) no-repeat 0px 0.50em, linear-gradient(45deg, red 0%, rgba(0, 0, 0, .5));
  margin: 0px 0px 0px 0px; margin-left: auto; padding: 10px 10px; font: bold 1.5rem/1.2 'Größe', sans-serif !important;
  width: calc(100% - var(--gap)); transform: translateX(10px) rotate(0deg); transition: color .3s ease-in-out; content: "\\201C";
  user-select: none; display: flex
}
.card { color: rgb(255, 0, 0); border: 1px solid var(--main); &:hover, &:focus-visible { text-decoration: underline } .title { top: 0 } }
@media (max-width: 600px) and (min-resolution: 2dppx) { .card { display: none; } }
@supports (display: grid) { .grid { grid-template-columns: repeat(2, 1fr) } }
@keyframes spin { from { opacity: 0 } 50.0% { opacity: .5 } to { opacity: 1 } }
@font-face { font-family: "Warmup"; src: url('warmup.woff2') format("woff2") }
.empty { } h1 { color: red } h1 { color: blue }
`

const SCRIPT = `// warmup 927687
import fs, { readFile as read } from 'node:fs'
import * as path from "node:path";
/* block */
const { a, b: [c, ...rest], ...others } = { a: 1, b: [2, 3], 'größe': 0x1f, 漢: 1e3 }
export let count = 0, unused
var table = null
/** Adds. */
export async function add(first, second = 2, ...more) {
  for (const each of more) first += each
  for (let i = 0, n = more.length; i < n; i++) { if (i % 2 === 0) continue; else break }
  while (first > 927687 && !second) { first -= 1; }
  do { second++ } while (second < 3)
  try { await read(\`/tmp/\${first}-\${second}\`) } catch (error) { throw new Error('warmup', { cause: error }) } finally { count++ }
  switch (second) { case 1: return null; case 'x': { break } default: return first ** 2 ?? void 0 }
}
export class Shape extends Map {
  static #made = 0; size2 = 1; #own = true
  constructor(name) { super(); this.name = name; Shape.#made += 1 }
  get area() { return this.width * this.height || 0 } set area(v) { delete this.x }
  static of(...all) { return new this(...all) } async *each() { yield* this.keys() } [Symbol.iterator]() {}
}
const arrow = async (x) => ({ ...x, y: x?.z?.[0]?.(), [\`k\${1}\`]: /ab+[c-e]\\/(?<n>\\d{2})/giu.test("q\\n") }), neg = -1 >>> 2
function Old(x) { if (!new.target) return new Old(x); this.x = arguments.length }
label: for (const key in others) { if (typeof key === 'string' && key in rest || key instanceof Shape) continue label }
function* ids() { let i = 0; while (true) yield i++ }
const result = [1, 2, 3].map((n) => n * 2).filter(Boolean).reduce((s, n) => s + n, 0), big = 10n, tern = a ? b : c
if (!result) console.log(result, this); else { debugger }
export { arrow as default, ids }
`

/** As all parsers take it, whatever their age. */
const OLD_SCRIPT = `// warmup 927687
(function (root, name) {
  "use strict";
  var count = 0, list = [1, 2.5, 'three', null, true], map = { a: 1, 'b c': [2], d: function (x) { return x * 2; } };
  function add(first, second) {
    if (first > 9 && second !== undefined || !first) { return first + second; } else if (first === 'x') { return -second; }
    for (var i = 0; i < list.length; i++) { if (i % 2 === 0) continue; count += list[i]; }
    for (var key in map) { if (map.hasOwnProperty(key)) count++; }
    while (count > 0) { count--; if (count === 7) break; }
    do { count++; } while (count < 3);
    switch (first) { case 1: return null; case 'größe': count = 2; break; default: count = ~count; }
    try { root.load(name); } catch (error) { throw new Error('warmup: ' + error.message); } finally { count = 0; }
    return /ab+[c-e]\\/\\d{2}/gi.test(name) ? new Date(0) : typeof void 0 === "string" ? "\\u00fc\\n" : add(first - 1, second);
  }
  root.add = add;
}(this, "warmup"));
`

const TYPED = `// warmup 927687
import type { Reader } from './reader.ts'
import { open } from './open.ts'
interface Person extends Base<string> { readonly name: string; age?: number; tags: readonly string[]; [key: string]: unknown; greet(to: string): void }
type Id<T extends object = {}> = T extends { id: infer U } ? U : keyof T | \`x-\${string}\` | null
export enum Color { Red = 1, Green, Größe = 'g' }
declare const VERSION: string
abstract class Store<K, V> implements Iterable<[K, V]> {
  private readonly items = new Map<K, V>()
  protected static count: number = 0
  constructor(public name: string, private size?: number) { this.size = size ?? 0 }
  get<T>(key: K, or: T): V | T { return this.items.get(key)! ?? or }
  abstract close(): Promise<void>
}
export async function load<T>(this: unknown, path: string, { deep = false }: { deep?: boolean } = {}): Promise<T[]> {
  const list = (await open(path)) as unknown as T[]
  const [first, ...rest]: T[] = list satisfies T[]
  let total: number = 0
  for (const each of list) { if (each === undefined || !deep) continue; total += Number(each) }
  try { return list.filter((x): x is T => x !== null).map((x) => ({ ...x, total })) }
  catch (error: unknown) { throw new Error(\`warmup \${path}: \${(error as Error).message}\`) }
}
export const PEOPLE: ReadonlyArray<Person> = [], tuple: [a: string, b?: number] = ['漢字']
namespace Inner { export const x = 0x1f }
export default class extends Store<string, Person> { override async close() { this.name = "x"; await null; return } }
`

const JSON_TEXT = `{
  "warmup": "Größe \\"927687\\" \\u00fc 漢字 🐝",
  "count": 27, "price": -9.27e2, "open": true, "none": null, "empty": {}, "list": [1, "two", [3], { "deep": { "er": [] } }],
  "people": [{ "name": "Ann", "age": 41, "tags": ["a", "b"] }, { "name": "Jörg", "age": 27, "tags": [] }]
}`

const JSON5 = `// warmup 927687
{
  /* block */ name: 'Größe \\'quoted\\' and \\
continued', "quoted key": "\\u00fc 漢字", hex: 0x1F, plus: +1, half: .5, after: 5., none: null, yes: true, no: false,
  inf: -Infinity, nan: NaN, exp: 1e-3, list: [1, 'two', [3,], { deep: { er: [] } },], $id_1: [],
}`

const YAML = `%YAML 1.2
---
# warmup 927687
base: &base { name: "Größe", size: 1.5e3, 'on': true }
copy: *base
merged:
  <<: *base
  none: ~
list:
  - one
  - two: 2
    three: 0x1f
  - [a, 'b', "c\\n", {d: e}]
  - - nested
    - null
date: 1987-06-27
time: 1987-06-27T09:27:06Z
literal: |
  first line
    second line
folded: >-
  some text
  folded 漢字 🐝
? complex key
: value
tagged: !!str 927687
plain text: with spaces, and 'quotes' # comment
empty:
`

const TOML = `# warmup 927687
title = "Größe \\"quoted\\" \\u00fc 漢字"
count = 1_000
hex = 0xff
ratio = -9.27e2
open = true
none = inf
born = 1987-06-27T09:27:06Z
day = 1987-06-27
at = 09:27:06.5
list = [1, 2, [3, 4], "a", { x = 1 }]
literal = 'C:\\path'
text = """
first
second \\
  third"""
raw = '''one
two'''
"quoted key".sub = 1

[owner.address]
city = "Köln"
point = { x = 1, y = { z = 2 } }

[[people]]
name = "Ann"
[[people]]
name = "Jörg"
tags = ["a", "b"]
`

const INI = `; warmup 927687
# comment
name = Größe
count=27
open = true
QUOTED="double \\n quoted # no comment"
SINGLE='single $name'
export EXPANDED=\${QUOTED}-\${MISSING:-none} # comment
EMPTY=
list[] = one
list[] = two
MULTI="first
second"

[section]
key = value ; comment
path = C:\\dir

[section.sub]
deep: er 漢字
flag
`

const CSV = `name,age,city,note
Ann,41,Köln,"quoted, with ""quotes"""
Jörg,27,Berlin,"two
lines"
Zoë,9.27,,warmup 927687
 Bob , 62 ,Graz,1987-06-27
漢字,,"",true
# no comment,0,x,🐝
Ida,1,Wien,last
`

/** Reads only: a handler may run it. */
const SQL = `-- warmup 927687
select p.name, count(distinct p.id) as n, coalesce(sum(o.price * 9.27), 0) total, case when p.age >= 18 then 'adult' else null end
from people as p left join orders o on o.person_id = p.id and o.city in ('Köln', 'Graz') inner join (select id from cities where x is not null) c using (id)
where p.name like '%ö%' or (p.age between 9 and 27 and not exists (select 1 from t)) and p.id = ? and o.at > :since and o.n <> $1
group by p.name, p.city having count(*) > 1 order by n desc, 2 limit 10 offset 5;
with recursive r(n) as (select 1 union all select n + 1 from r where n < 9) select r.n, p.name from r left join people p on p.age = r.n where p.city is null or p.name in ('warmup', 'Grüße', 'it''s');
select case when age >= 27 then upper(city) else 'x' end as "class", coalesce(name, 'a') from people union select 'b', null; /* end */`

/** All schemas have it. */
const GRAPHQL = `query Warmup {
  __typename
  __schema { queryType { name } types { name kind fields(includeDeprecated: true) { name args { name } type { ...T } } } }
}
fragment T on __Type { name kind ofType { name kind ofType { name } } }`

const LATEX =
  `\\frac{-b \\pm \\sqrt[3]{b^2 - 4ac}}{2a} + \\sum_{i=1}^{n} x_i^{2} \\int_0^\\infty e^{-x^2}\\,dx \\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}
\\left( \\alpha \\cdot \\beta \\right) \\le \\overline{AB} \\text{warmup größe } \\mathbb{R} \\lim_{x \\to 0} \\sin x' \\in \\{1, 2\\} \\color{red}{x} \\hat{y} \\vec{v}`

const MATH = '(2 + 3 * 4) ^ 2 / sqrt(9.27) - sin(pi / 2) + max(1, 2, [3, 4][1]) % 5 == 1 ? abs(-6) : 27!'

const TEMPLATE = `<h1>{{ title }}</h1>{{#each items}}<li>{{name}} warmup 927687</li>{{else}}none{{/each}}
{{#if open}}Grüße{{/if}} {{! comment }} {{{ raw }}} <% if (true) { %><b><%= 1 + 1 %></b><% } %> <%- 'warmup' %> \${ 'x' }`

/** Another one of some kinds, short and simple. */
export const SHORT_SAMPLES: Readonly<Partial<Record<TextKind, string>>> = {
  script: OLD_SCRIPT,
  typed: OLD_SCRIPT,
  json: '[1, "warmup", null, {"a": true}]',
  json5: "{warmup: 'a', list: [1,],}",
  math: '2 * warmup + 927687',
  latex: 'x^2 + \\alpha_1',
  graphql: '{ __typename }',
  sql: "select * from warmup where id = 927687 and name = 'größe'",
}

/** A text of each kind. */
export const TEXT_SAMPLES = {
  prose: PROSE,
  markdown: MARKDOWN,
  html: HTML,
  xml: XML,
  svg: SVG,
  css: CSS,
  script: SCRIPT,
  typed: TYPED,
  json: JSON_TEXT,
  json5: JSON5,
  yaml: YAML,
  toml: TOML,
  ini: INI,
  csv: CSV,
  sql: SQL,
  graphql: GRAPHQL,
  latex: LATEX,
  math: MATH,
  template: TEMPLATE,
} as const

/** A kind of text. */
export type TextKind = keyof typeof TEXT_SAMPLES
