import type { Context } from '@mayfly/mayfly'
import { compile } from 'svelte/compiler'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  {
    text: `<script>let { people, title = 'Größe' } = $props(); let count = $derived(people.length)</script>
<h1>{title}</h1>
{#each people as person (person.name)}<li class:adult={person.age >= 18}>{person.name}</li>{:else}<p>nobody</p>{/each}
<footer>{count}</footer>
<style>li { color: red } .adult { font-weight: bold }</style>`,
  },
  { text: '{#if a}<p>{a}</p>' },
]

/** Compiles a component for the server, which is Svelte's largest part; the text tells how. */
export async function POST(ctx: Context) {
  try {
    const { js, css, warnings } = compile(await ctx.get.text(), {
      generate: 'server',
      name: 'Page',
      filename: 'Page.svelte',
    })
    return ctx.send.json({ js: js.code, css: css?.code, warnings: warnings.length, people: PEOPLE.length })
  } catch (error) {
    return ctx.send.json({ code: (error as { code?: string }).code ?? String(error) }, { status: 422 })
  }
}
