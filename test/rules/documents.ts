import { existsSync, readdirSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { anchorsOf, codeOf, type Document, proseOf, readDocuments } from '../support/documents.ts'
import { ROOT } from './sources.ts'

export function documentFaults(): string[] {
  const documents = readDocuments()
  return [
    ...documents.flatMap((document) => linksOf(document).flatMap((link) => brokenLink(document, link, documents))),
    ...documents.flatMap(missingPaths),
    ...documents.filter(({ path }) => /^(config|jobs|src|test)\/(.*\/)?README\.md$/.test(path)).flatMap(wrongNames),
    ...unlinked(documents),
    ...tooLong(documents),
    ...documents.filter(({ path }) => /^(README|config\/(guide|deploy)\/.*)\.md$/.test(path)).flatMap(longSentences),
  ]
}

function linksOf(document: Document): string[] {
  const links = [...proseOf(document).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
  return links.filter((link) => !/^[a-z]+:/.test(link))
}

function brokenLink({ path, text }: Document, link: string, documents: readonly Document[]): string[] {
  const [file = '', anchor] = link.split('#')
  const to = file === '' ? path : normalize(join(dirname(path), file))
  if (!existsSync(join(ROOT, to))) return [`${path}: ${link} is not there`]
  if (anchor === undefined) return []
  const target = file === '' ? { path, text } : documents.find((one) => one.path === to)
  return target !== undefined && anchorsOf(target).includes(anchor) ? [] : [`${path}: ${link} has no such heading`]
}

/** Files that the reader makes while following the documents. */
const MADE_BY_READER = ['config/plimsoll.yaml', 'config/.plimsoll', 'config/deploy/docker/secrets']
const isMadeByReader = (path: string) => MADE_BY_READER.some((made) => `${path}/`.startsWith(`${made}/`))

function missingPaths(document: Document): string[] {
  return codeOf(document)
    .filter((code) => /^(config|jobs|src|test)\/[\w./-]*$/.test(code))
    .filter((path) => !existsSync(join(ROOT, path)) && !isMadeByReader(path))
    .map((path) => `${document.path}: ${path} is not there`)
}

/** A README of a folder names, in the first column of its tables, only files that are there; and every folder beside it. */
function wrongNames({ path, text }: Document): string[] {
  const cells = [...text.matchAll(/^\| (`[^|]*) \|/gm)].map(([, cell = '']) => cell)
  const named = cells.flatMap((cell) => [...cell.matchAll(/`([\w.*/-]+)`/g)].map(([, name = '']) => name))
  const missing = named.filter((name) => /[./]/.test(name) && !existsSync(join(ROOT, dirname(path), name)))
  const folders = readdirSync(join(ROOT, dirname(path)), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !isMadeByReader(join(dirname(path), entry.name)))
    .filter(({ name }) => !['`', ']('].some((before) => text.includes(`${before}${name}/`)))
  return [
    ...missing.map((name) => `${path}: ${name} is not there`),
    ...folders.map(({ name }) => `${path}: the folder ${name} is not named`),
  ]
}

function unlinked(documents: readonly Document[]): string[] {
  const linked = new Set(
    documents.flatMap((document) => [
      ...linksOf(document).map((link) => normalize(join(dirname(document.path), link.split('#')[0] ?? ''))),
      ...(document.path === 'README.md' ? codeOf(document) : []),
    ]),
  )
  return documents
    .filter(({ path }) => path !== 'README.md' && !linked.has(path))
    .map(({ path }) => `${path}: no other document links to it`)
}

const MOST_LINES_OF_README = 110
const MOST_WORDS_OF_GUIDE = 7_000

function tooLong(documents: readonly Document[]): string[] {
  const lines =
    documents
      .find(({ path }) => path === 'README.md')
      ?.text.trimEnd()
      .split('\n').length ?? 0
  const guide = documents.filter(({ path }) => /^config\/guide\/(?!runbook)/.test(path))
  const words = guide.reduce((sum, { text }) => sum + text.split(/\s+/).filter((word) => word !== '').length, 0)
  return [
    ...(lines > MOST_LINES_OF_README ? [`README.md has ${lines} lines, at most ${MOST_LINES_OF_README}`] : []),
    ...(words > MOST_WORDS_OF_GUIDE ? [`config/guide has ${words} words, at most ${MOST_WORDS_OF_GUIDE}`] : []),
  ]
}

const MOST_WORDS_OF_SENTENCE = 25

/** Sentences of paragraphs, list items and cells. */
function longSentences(document: Document): string[] {
  const parts = proseOf(document)
    .replaceAll(/`[^`\n]*`/g, 'code')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .split(/\n\s*\n|\n\s*(?:[-*]|\d+\.) |\||[.;?!](?=\s|$)/)
  return parts
    .map((part) => part.split(/\s+/).filter((word) => /\w/.test(word) && !/^code\b/.test(word)))
    .filter((words) => words.length > MOST_WORDS_OF_SENTENCE)
    .map((words) => `${document.path}: ${words.length} words: ${words.slice(0, 8).join(' ')} ...`)
}
