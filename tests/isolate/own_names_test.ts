/** Names of classes and functions in a program that the bundler made one module of. */
import { assertEquals, assertStringIncludes } from '@std/assert'
import { stopEsbuild } from '../../src/compiler/esbuild.ts'
import { withOwnNames } from '../../src/isolate/bundle/own_names.ts'
import { ask, withGuest } from './guest_process.ts'

const FILES = {
  'deno.json': '{}',
  'a.ts': `
    import * as first from './_first.ts'
    import old from './node_modules/old/index.js'
    export const isolated = true
    export class Overload extends Error {
      static is = (error: unknown) => error instanceof Overload
    }
    class Alone { static make = () => new Alone() }
    class Named { static override = Named; static name = 'given' }
    class Called { static make = () => new Called(); static name() { return 'method' } }
    function format() { throw new Overload('too much') }
    async function* stream() {}
    export const text = \`
class Overload2 extends Error {
    var Overload2 = class extends Error {
function format2() {
\`
    export const GET = () => {
      let thrown
      try { format() } catch (error) { thrown = error.constructor.name + (error.stack.includes('format') ? ' in format' : '') }
      return Response.json({
        classes: [Overload.name, Alone.name, Named.name, Called.name(), ...first.classes, ...old.classes],
        functions: [format.name, stream.name, ...first.functions, ...old.functions],
        is: Overload.is(new first.Overload()),
        thrown,
        text,
      })
    }`,
  '_first.ts': `
    export class Overload extends Error {}
    class Base2 extends (class {}) {}
    const mix = (base) => class Mixed extends base {}
    class Alone extends mix(Overload) {}
    function format() {}
    async function* stream() {}
    const Inner = (() => { class Inner extends Overload {} return Inner })()
    const Old = function () { function Old() {} function inner() {} return Old }()
    const called = ((one, two) => [one, two])(
      function Old() {},
      function Inner() {},
    )
    export const classes = [Overload.name, Base2.name, Alone.name, mix(Array).name, Inner.name, Old.name]
    export const functions = [format.name, stream.name]`,
  'node_modules/old/package.json': '{ "name": "old", "version": "1.0.0" }',
  'node_modules/old/index.js': `'use strict'
    class Overload extends Error { static self() { return Overload } }
    function format() { return format }
    exports.classes = [Overload.name, Overload.self().name]
    exports.functions = [format.name, format().name]`,
}

Deno.test('classes and functions have the names of their modules, whatever the bundler made of them', async () => {
  await withGuest(FILES, async (guest) => {
    assertStringIncludes(new TextDecoder().decode(guest.program.bundle.code), 'Overload2')
    const { head, text } = await ask(guest, {})
    assertEquals(head.error, undefined)
    const answer = JSON.parse(text)
    assertEquals(answer, {
      classes: [
        'Overload',
        'Alone',
        'given',
        'method',
        'Overload',
        'Base2',
        'Alone',
        'Mixed',
        'Inner',
        'Old',
        'Overload',
        'Overload',
      ],
      functions: ['format', 'stream', 'format', 'stream', 'format', 'format'],
      is: false,
      thrown: 'Overload in format',
      text:
        '\nclass Overload2 extends Error {\n    var Overload2 = class extends Error {\nfunction format2() {\n',
    })
  })
  await stopEsbuild()
})

Deno.test('a bundle in which nothing was renamed stays as it is', () => {
  const map = JSON.stringify({ version: 3, sources: [], names: [], mappings: '' })
  const code = 'var Base64 = class {\n};\nfunction f2() {\n}\n'
  assertEquals(withOwnNames(code, map), code)
})
