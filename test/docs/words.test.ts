import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseAst } from 'vitest/node'
import { ROOT, readDocuments } from '../support/documents.ts'

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
  [/\bthresholds\[/i, "the rule's name, then its line"],
  [/\bToken endpoint: (open|closed)/i, 'the cause, how many accounts, when the first token expires'],
  [/\b(author|organ|recogn|normal|serial|initial|summar|real)is(e|es|ed|ing|ation)\b/i, 'American spelling: -ize'],
  [
    /\b(cancelled|cancelling|grey|colours?|coloured|behaviours?|honours?|favours?|catalogues?|centred?|labelled)\b/i,
    'American spelling',
  ],
]

interface Text {
  /** File and line. */
  at: string
  text: string
}

test('what people read is plain English', () => {
  const texts = [...documentTexts(), ...configTexts(), ...sourceTexts()]
  expect(texts.length).toBeGreaterThan(3_000)
  expect(texts.flatMap(faultsOf)).toEqual([])
})

/** Openings of comments without a noun: the reader has to read the code to know their subject. */
const RIDDLE =
  /(?:\/\*\*(?:\n *\*)?|^ *(?:\/\/|--)) (What|Whom?|Whose|As|Of|Where|Whether|It|Its|That|Those|They|Such)\b.*/gm

test('comments begin with their noun', () => {
  const paths = ['src', 'jobs', 'config'].flatMap((folder) => filesIn(folder, /\.(ts|mjs|lua)$/))
  expect(paths.length).toBeGreaterThan(400)
  expect(
    paths.flatMap(
      (path) =>
        readFileSync(join(ROOT, path), 'utf8')
          .match(RIDDLE)
          ?.map((text) => `${path}: ${text}`) ?? [],
    ),
  ).toEqual([])
})

function faultsOf({ at, text }: Text): string[] {
  return WORDS.flatMap(([not, but]) => {
    const found = not.exec(text)
    if (found === null) return []
    const around = text.slice(Math.max(0, found.index - 40), found.index + 60).replaceAll(/\s+/g, ' ')
    return [`${at}: "${found[0]}" in "${around}": write ${but}`]
  })
}

/** Markdown line by line, without what is code. Of the changelog the versions that are out stay as they were. */
function documentTexts(): Text[] {
  return readDocuments().flatMap(({ path, text }) => {
    const read = path === 'CHANGELOG.md' ? text.split(/^## /m).slice(0, 2).join('## ') : text
    return linesOf(path, read, (line) => line.replaceAll(/`[^`]*`|\]\([^)]*\)|[\w./-]+\.ts\b/g, ''))
  })
}

/** Examples and files to deploy, with their comments. */
function configTexts(): Text[] {
  const paths = filesIn('config', /\.ya?ml$|\.(conf|json|service|logrotate|sysusers)$|Dockerfile$|systemd\/plimsoll$/)
  return paths.flatMap((path) => linesOf(path, readFileSync(join(ROOT, path), 'utf8'), (line) => line))
}

function linesOf(path: string, text: string, shown: (line: string) => string): Text[] {
  return text.split('\n').map((line, n) => ({ at: `${path}:${n + 1}`, text: shown(line) }))
}

/** Strings and templates of the code that are texts: more than one word, or a word with a capital. */
function sourceTexts(): Text[] {
  const paths = ['src', 'jobs', 'config'].flatMap((folder) => filesIn(folder, /\.(ts|js|mjs)$/))
  return paths.flatMap((path) => {
    const source = readFileSync(join(ROOT, path), 'utf8')
    const literals: Literal[] = []
    collect(parseAst(source, { lang: path.endsWith('.ts') ? 'ts' : 'js' }), literals)
    return literals
      .map(({ start, text }) => ({ at: `${path}:${source.slice(0, start).split('\n').length}`, text: seenOf(text) }))
      .filter(({ text }) => /[a-z]\s+\S|^[A-Z][a-z]/.test(text))
  })
}

interface Literal {
  start: number
  text: string
}

interface Node {
  type: string
  start: number
  value?: unknown
  quasis?: { value: { cooked: string } }[]
}

/** Types and what a file imports are names of code, not texts. */
const NAMES = new Set(['ImportDeclaration', 'ExportAllDeclaration', 'TSLiteralType', 'TSTypeAliasDeclaration'])

function collect(node: unknown, into: Literal[]): void {
  if (Array.isArray(node)) for (const one of node) collect(one, into)
  if (!isNode(node) || NAMES.has(node.type)) return
  if (node.type === 'Literal' && typeof node.value === 'string') into.push({ start: node.start, text: node.value })
  if (node.type === 'TemplateLiteral') {
    into.push({ start: node.start, text: (node.quasis ?? []).map(({ value }) => value.cooked).join('…') })
  }
  for (const inner of Object.values(node)) if (typeof inner === 'object') collect(inner, into)
}

function isNode(node: unknown): node is Node {
  return typeof node === 'object' && node !== null && 'type' in node && typeof node.type === 'string'
}

/** Markup without its tags, but for the attributes that are read out or shown. */
function seenOf(text: string): string {
  const attributes = [...text.matchAll(/\b(?:aria-label|title|placeholder|alt|data-label)="([^"]*)"/g)]
  return [text.replaceAll(/<[a-z!/][^>]*>/gi, ' '), ...attributes.map(([, shown = '']) => shown)].join(' · ')
}

function filesIn(folder: string, pattern: RegExp): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter((path) => pattern.test(path) && !/node_modules|\.plimsoll/.test(path))
}
