import type { Context } from '@mayfly/mayfly'
import { renderToString } from '@vue/server-renderer'
import { computed, createSSRApp, h, ref } from 'vue'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { path: '?title=Leute&min=18' },
  { path: '?title=%3Ci%3E&min=60' },
]

const Row = {
  props: ['person'],
  template:
    `<li :class="{ adult: person.age >= 18 }" @click="() => {}">{{ person.name }} <em v-for="tag in person.tags" :key="tag">{{ tag }}</em></li>`,
}

const Footer = {
  setup() {
    const count = ref(PEOPLE.length)
    const double = computed(() => count.value * 2)
    return () => h('footer', { 'data-count': count.value }, `${double.value} ü`)
  },
}

export async function GET(ctx: Context) {
  const { title, min } = ctx.get.query()
  const app = createSSRApp({
    components: { Row, Footer },
    data: () => ({ title, people: PEOPLE }),
    computed: {
      found(): typeof PEOPLE {
        return PEOPLE.filter(({ age }) => age >= Number(min))
      },
    },
    template:
      `<main><h1>{{ title }}</h1><ul v-if="found.length"><Row v-for="p in found" :key="p.name" :person="p" /></ul>
      <p v-else>nobody</p><Footer /></main>`,
  })
  return ctx.send.html(await renderToString(app))
}
