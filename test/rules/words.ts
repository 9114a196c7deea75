import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readDocuments } from '../support/documents.ts'
import { filesIn, ROOT, type Source, syntaxNodes } from './sources.ts'

/** Words that operators had to read twice, many of them in their second language, and what to write instead. */
const WORDS: readonly (readonly [not: RegExp, but: string])[] = [
  [/\b(told|tells?|telling)\b/i, 'notified, sends to, reports, shows'],
  [/\b(says?|said|saying)\b/i, 'reports, shows, names, means'],
  [/\bmend(s|ed|ing)?\b/i, 'fix'],
  [/\blook(s|ed|ing)?\b/i, 'check, read, see'],
  [/\b(the )?whole fleet\b/i, 'all accounts'],
  [/\b(everybody|everyone)\b/i, 'all accounts, all daemons: the noun'],
  [/\b(became|becomes? of)\b/i, 'outcome'],
  [/\b(who|what|which)ever\b/i, 'the noun: the caller, another daemon'],
  [/\b(no|some|any)(body|one)\b/i, 'the noun: an operator, no daemon'],
  [/\bsome(thing|how|where)\b/i, 'the noun'],
  [/\b(stands?|stood)\b(?!-in|-ins| in for)/i, 'is, are'],
  [/\bas it was left\b/i, 'unchanged'],
  [/^again$/i, 'repeats at'],
  [/\bhow full\b/i, 'the number with its noun: 41 records'],
  [
    /\b(lived so far|patience|in hand|now and then|as far as is remembered)\b/i,
    'the term: shutdown budget, in progress',
  ],
  [/\bfares?\b/i, 'works, fails: the state'],
  [/\b(anew|for want of|how manieth|as bad as the)\b/i, 'again; because there is no; number; highest'],
  [/\b(at work|works by)\b/i, 'running; uses'],
  [/\btakes (the|this|no|your|an?|writes) (?!place)/i, 'accepts, needs, uses'],
  [/\b(withheld|fullest record [0-9]|regular turn)\b/i, 'not sent; the limit; since when; due time'],
  [/\b(words of your own|every receiver knows|how gently|whether enough|way out)\b/i, 'templates; rate limits; fix'],
  [/\bnone (has|have|works|fits)\b/i, 'no tokens, no alert: the noun'],
  [/\bgoes on (?=\w)/i, 'continues'],
  [/\bthresholds\[/i, "the rule's name, then its line"],
  [/\bToken endpoint: (open|closed)/i, 'the cause, how many accounts, when the first token expires'],
  [/\b(author|organ|recogn|normal|serial|initial|summar|real)is(e|es|ed|ing|ation)\b/i, 'American spelling: -ize'],
  [
    /\b(cancelled|cancelling|grey|colours?|coloured|behaviours?|honours?|favours?|catalogues?|centred?|labelled)\b/i,
    'American spelling',
  ],
]

/** Openings of comments without a noun: the reader has to read the code to know their subject. */
const RIDDLE =
  /(?:\/\*\*(?:\n *\*)?|^ *(?:\/\/|--)) (What|Whom?|Whose|As|Of|Where|Whether|It|Its|That|Those|They|Such)\b.*/gm

interface Text {
  /** File and line. */
  at: string
  text: string
}

export function wordFaults(sources: readonly Source[]): string[] {
  const texts = [...documentTexts(), ...deployTexts(), ...sources.flatMap(textsOf)]
  return [...texts.flatMap(faultsOf), ...sources.flatMap(riddles)]
}

function riddles({ path, text }: Source): string[] {
  return (text.match(RIDDLE) ?? []).map((comment) => `${path}: begin the comment with its noun: ${comment}`)
}

function faultsOf({ at, text }: Text): string[] {
  return WORDS.flatMap(([not, but]) => {
    const found = not.exec(text)
    if (found === null) return []
    const around = text.slice(Math.max(0, found.index - 40), found.index + 60).replaceAll(/\s+/g, ' ')
    return [`${at}: "${found[0]}" in "${around}": write ${but}`]
  })
}

/** Markdown line by line, without what is code. */
function documentTexts(): Text[] {
  return readDocuments().flatMap(({ path, text }) =>
    linesOf(path, text, (line) => line.replaceAll(/`[^`]*`|\]\([^)]*\)|[\w./-]+\.ts\b/g, '')),
  )
}

/** Examples and files to deploy, with their comments. */
function deployTexts(): Text[] {
  const paths = filesIn('config', /\.ya?ml$|\.(conf|json|service|logrotate|sysusers)$|Dockerfile$|systemd\/plimsoll$/)
  return paths.flatMap((path) => linesOf(path, readFileSync(join(ROOT, path), 'utf8'), (line) => line))
}

function linesOf(path: string, text: string, shown: (line: string) => string): Text[] {
  return text.split('\n').map((line, n) => ({ at: `${path}:${n + 1}`, text: shown(line) }))
}

/** Types and what a file imports are names of code, not texts. */
const NAMES = new Set(['ImportDeclaration', 'ExportAllDeclaration', 'TSLiteralType', 'TSTypeAliasDeclaration'])

/** Strings and templates of the code that are texts: more than one word, or a word with a capital. */
function textsOf(source: Source): Text[] {
  if (source.path.endsWith('.lua')) return []
  return syntaxNodes(source, ({ type }) => NAMES.has(type)).flatMap(({ type, start, value, quasis = [] }) => {
    const isText = type === 'Literal' && typeof value === 'string'
    if (!isText && type !== 'TemplateLiteral') return []
    const text = seenOf(isText ? value : quasis.map((quasi) => quasi.value.cooked).join('…'))
    if (!/[a-z]\s+\S|^[A-Z][a-z]/.test(text)) return []
    return [{ at: `${source.path}:${source.text.slice(0, start).split('\n').length}`, text }]
  })
}

/** Markup without its tags, but for the attributes that are read out or shown. */
function seenOf(text: string): string {
  const attributes = [...text.matchAll(/\b(?:aria-label|title|placeholder|alt|data-label)="([^"]*)"/g)]
  return [text.replaceAll(/<[a-z!/][^>]*>/gi, ' '), ...attributes.map(([, shown = '']) => shown)].join(' · ')
}
