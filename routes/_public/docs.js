/** The docs: the list shows the current document, the contents the section that is read. */

const list = document.querySelector('.docs-list')
const current = list?.querySelector('[aria-current]')
if (current) list.scrollTop = current.offsetTop - list.offsetTop - list.clientHeight / 3

const sections = [...document.querySelectorAll('.docs-toc a')].map((link) => ({
  link,
  heading: document.getElementById(decodeURIComponent(link.getAttribute('href').slice(1))),
}))
let isWaiting = false

addEventListener('scroll', () => {
  if (isWaiting) return
  isWaiting = true
  requestAnimationFrame(markRead)
}, { passive: true })
markRead()

/** The section that is read is the last one whose heading has passed the top. */
function markRead() {
  isWaiting = false
  const read = sections.findLast(({ heading }) => heading?.getBoundingClientRect().top < 120)
  for (const section of sections) section.link.toggleAttribute('data-read', section === read)
}
