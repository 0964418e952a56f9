import type { Context } from '@mayfly/mayfly'
import nlp from 'compromise'

export const inputs = [
  { text: 'Ann walked to the old market in Köln and bought three apples. She will sell them tomorrow.' },
  { text: 'The quick brown fox jumps over two lazy dogs, but Dr. Smith did not see it happen in Paris.' },
]

export async function POST(ctx: Context) {
  const doc = nlp(await ctx.get.text())
  return ctx.send.json({
    nouns: doc.nouns().out('array'),
    verbs: doc.verbs().toInfinitive().out('array'),
    people: doc.people().out('array'),
    past: doc.verbs().toPastTense().out('array'),
    terms: doc.terms().length,
  })
}
