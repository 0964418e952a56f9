import type { Context } from '@mayfly/mayfly'
import { format } from 'sql-formatter'

export const inputs = [
  {
    text:
      "select a.id,count(*) as n from orders a left join users u on u.id=a.user_id where u.name like 'Gr%ö' " +
      'and a.total > 100 group by a.id having count(*)>2 order by n desc limit 10',
  },
  {
    path: '?language=mysql',
    text: 'insert into `größe` (a,b) values (1,?),(2,?) on duplicate key update b=values(b)',
  },
]

export async function POST(ctx: Context) {
  const language = ctx.get.query('language') === 'mysql' ? 'mysql' : 'postgresql'
  return ctx.send.text(format(await ctx.get.text(), { language, keywordCase: 'upper', params: ['1', '2'] }))
}
