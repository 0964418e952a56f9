/** The events page: a live list, newest first. */

const list = document.querySelector('#feed ol')
const state = document.getElementById('feed-state')
const source = new EventSource('/events/feed')

source.addEventListener('open', () => state.textContent = 'Live, newest first')
source.addEventListener('error', () => state.textContent = 'The stream broke off; the browser tries again')
source.addEventListener('entry', ({ data }) => {
  const { at, kind, text } = JSON.parse(data)
  const item = document.createElement('li')
  item.className = 'fade'
  item.append(
    piece('time', new Date(at).toISOString().slice(11, 23)),
    piece('span', kind, 'kind'),
    piece('span', text),
  )
  list.prepend(item)
  while (list.children.length > 80) list.lastElementChild.remove()
})
addEventListener('pagehide', () => source.close())

function piece(name, text, kind = '') {
  const element = document.createElement(name)
  element.className = kind
  element.textContent = text
  return element
}
