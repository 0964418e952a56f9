import type { Context } from '@mayfly/mayfly'
// @ts-types="@types/react"
import { createContext, memo, type ReactNode, useContext, useId, useMemo, useReducer, useState } from 'react'
// @ts-types="@types/react-dom/server"
import { renderToStaticMarkup, renderToString } from 'react-dom/server'
import { PARAGRAPHS, PEOPLE, type Person } from '~/texts.ts'

export const inputs = [
  { path: '?title=Dashboard&theme=dark' },
  { path: '?title=%C3%9Cbersicht&theme=light&filter=n' },
  { path: '?title=static&markup=1' },
]

type Theme = 'dark' | 'light'
const ThemeContext = createContext<Theme>('light')

function Card({ title, children }: { title: string; children: ReactNode }) {
  const theme = useContext(ThemeContext)
  return (
    <section className={`card card-${theme}`}>
      <h2>{title}</h2>
      <div className='body'>{children}</div>
    </section>
  )
}

function Avatar({ name }: { name: string }) {
  return (
    <span className='avatar' style={{ width: 32, backgroundColor: `hsl(${name.length * 20} 50% 50%)` }}>
      {name[0]}
    </span>
  )
}

function Tag({ label }: { label: string }) {
  return <em className='tag' data-label={label}>{label}</em>
}

const PersonRow = memo(({ person, index }: { person: Person; index: number }) => {
  const [open] = useState(index === 0)
  return (
    <tr aria-expanded={open} onClick={() => {}}>
      <td>
        <Avatar name={person.name} /> {person.name}
      </td>
      <td>{person.age}</td>
      <td>{person.address.city}</td>
      <td>{person.tags.map((tag) => <Tag key={tag} label={tag} />)}</td>
    </tr>
  )
})

function PeopleTable({ filter }: { filter: string }) {
  const found = useMemo(() => PEOPLE.filter(({ name }) => name.includes(filter)), [filter])
  return (
    <table>
      <caption>{found.length} of {PEOPLE.length}</caption>
      <tbody>{found.map((person, index) => <PersonRow key={index} person={person} index={index} />)}</tbody>
    </table>
  )
}

function Field({ label }: { label: string }) {
  const id = useId()
  return (
    <p>
      <label htmlFor={id}>{label}</label>
      <input id={id} name={label} defaultValue={label.toUpperCase()} required />
    </p>
  )
}

function Counter({ start }: { start: number }) {
  const [count, add] = useReducer((count: number, by: number) => count + by, start)
  return <button type='button' onClick={() => add(1)} disabled={count > 3}>{count} × clicked</button>
}

/** Some fifty components on a page: rows, cards, fields, tags and buttons. */
function Page({ title, theme, filter }: { title: string; theme: Theme; filter: string }) {
  return (
    <ThemeContext.Provider value={theme}>
      <header>
        <h1>{title}</h1>
      </header>
      <main>
        <Card title='People'>
          <PeopleTable filter={filter} />
        </Card>
        {PARAGRAPHS.slice(0, 8).map((text, index) => (
          <Card key={index} title={`Part ${index}`}>
            <p>{text}</p>
            <Counter start={index} />
          </Card>
        ))}
        <form>{['name', 'größe', 'ort'].map((label) => <Field key={label} label={label} />)}</form>
        <div dangerouslySetInnerHTML={{ __html: '<b>raw</b>' }} />
      </main>
    </ThemeContext.Provider>
  )
}

export function GET(ctx: Context) {
  const { title, theme = 'light', filter = '', markup } = ctx.get.query()
  const page = <Page title={title} theme={theme as Theme} filter={filter} />
  return ctx.send.html(markup === '1' ? renderToStaticMarkup(page) : renderToString(page))
}
