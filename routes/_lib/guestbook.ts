/** A guestbook in memory: the newest entries, and the rules for a new one. */

/** One entry. */
export interface Entry {
  readonly name: string
  readonly message: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** Entries, newest first. */
export interface Guestbook {
  readonly entries: Entry[]
}

/** What is wrong with a draft, by field. */
export interface DraftErrors {
  name?: string
  message?: string
}

const MOST_ENTRIES = 30
const MOST_NAME = 40
const MOST_MESSAGE = 280

/** An empty guestbook. */
export function createGuestbook(): Guestbook {
  return { entries: [] }
}

/** Checks what a visitor wrote. An empty record means that it may be signed. */
export function checkDraft(name: string, message: string): DraftErrors {
  const errors: DraftErrors = {}
  if (name === '') errors.name = 'Write a name, so that others know who was here'
  else if (name.length > MOST_NAME) errors.name = `This name has ${name.length} characters, ${MOST_NAME} fit`
  if (message === '') errors.message = 'Write a message'
  else if (message.length > MOST_MESSAGE) {
    errors.message = `This message has ${message.length} characters, ${MOST_MESSAGE} fit`
  }
  return errors
}

/** Adds an entry that was checked; the oldest one goes when the book is full. */
export function sign(book: Guestbook, entry: Entry): void {
  book.entries.unshift(entry)
  if (book.entries.length > MOST_ENTRIES) book.entries.pop()
}
