/** A page of some 50 components, rendered for each request by react-dom. */
const { createElement } = require('react')
const { renderToString } = require('react-dom/server')

const people = Array.from({ length: 15 }, (_, i) => ({
  name: `Person ${i}`,
  age: 20 + i,
  tags: ['a', 'b', 'c'].slice(0, i % 3 + 1),
}))

const Tag = ({ label }) => createElement('em', { className: 'tag' }, label)
const Row = ({ person, odd }) =>
  createElement(
    'tr',
    { className: odd ? 'odd' : 'even' },
    createElement('td', null, person.name),
    createElement('td', null, person.age),
    createElement('td', null, person.tags.map((tag) => createElement(Tag, { key: tag, label: tag }))),
  )
const Table = () =>
  createElement(
    'table',
    null,
    createElement(
      'tbody',
      null,
      people.map((person, i) => createElement(Row, { key: i, person, odd: i % 2 === 1 })),
    ),
  )
const Page = ({ path }) =>
  createElement(
    'html',
    { lang: 'en' },
    createElement('head', null, createElement('title', null, path)),
    createElement('body', null, createElement('h1', null, 'People'), createElement(Table)),
  )

Deno.serve({ port: Number(Deno.args[0]), onListen() {} }, (request) => {
  const body = '<!doctype html>' +
    renderToString(createElement(Page, { path: new URL(request.url).pathname }))
  return new Response(body, { headers: { 'content-type': 'text/html; charset=utf-8' } })
})
