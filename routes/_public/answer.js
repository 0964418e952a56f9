/** The place of a request's answer, for the pages with requests to try. */

/** The block right below `link`, made when there is none yet. */
export function answerOf(link) {
  const found = link.parentElement.querySelector('.answer')
  if (found) return found
  const answer = document.createElement('pre')
  answer.className = 'answer'
  answer.tabIndex = 0
  answer.setAttribute('role', 'region')
  answer.setAttribute('aria-live', 'polite')
  answer.setAttribute('aria-label', `Answer of ${link.getAttribute('href')}`)
  link.after(answer)
  return answer
}
