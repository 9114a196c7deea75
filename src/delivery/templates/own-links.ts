import { withoutMarkup } from '../describe/outline.ts'

const RECORD = /^https:\/\/app(-[a-z0-9]+)?\.hubspot\.com\/contacts\/\d{1,20}\/record\/[\d-]{1,20}\/\d{1,20}$/
const REST_OF_ADDRESS = /^[\w\-./?&=%#+,:;]*$/

/** An address of this installation, or of a record: a text from outside leads nowhere else. */
export function isOwnLink(word: string, home: string): boolean {
  if (RECORD.test(word)) return true
  return home !== '' && word.startsWith(home) && REST_OF_ADDRESS.test(word.slice(home.length))
}

/** For services that read markup: our own addresses stay, everything else that a field puts in loses its signs. */
export function escapeMarkup(home: string): (text: string) => string {
  return (text) => eachWord(text, (word) => (isOwnLink(word, home) ? word : withoutMarkup(word))).join('')
}

/** For plain text in which addresses can be followed: those from outside can not. */
export function escapeLinks(home: string): (text: string) => string {
  return (text) => eachWord(text, (word) => (isOwnLink(word, home) ? word : word.replaceAll('://', ':∕∕'))).join('')
}

/** The words of a text, and what is between them as it is. */
export function eachWord<T>(text: string, make: (word: string) => T): (T | string)[] {
  return text.split(/(\s+)/).map((part, n) => (n % 2 === 0 && part !== '' ? make(part) : part))
}
