import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { anchorsOf, codeOf, type Document, proseOf, ROOT, readDocuments } from '../support/documents.ts'

const documents = readDocuments()

test('every link leads to a file that is there, and to a heading in it', () => {
  const links = documents.flatMap((document) => linksOf(document).map((link) => ({ document, link })))
  expect(links.length).toBeGreaterThan(50)
  expect(links.flatMap(({ document, link }) => broken(document, link))).toEqual([])
})

function linksOf(document: Document): string[] {
  const links = [...proseOf(document).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
  return links.filter((link) => !/^[a-z]+:/.test(link))
}

function broken({ path, text }: Document, link: string): string[] {
  const [file = '', anchor] = link.split('#')
  const to = file === '' ? path : normalize(join(dirname(path), file))
  if (!existsSync(join(ROOT, to))) return [`${path}: ${link} is not there`]
  if (anchor === undefined) return []
  const target = file === '' ? { path, text } : documents.find((one) => one.path === to)
  return target !== undefined && anchorsOf(target).includes(anchor) ? [] : [`${path}: ${link} has no such heading`]
}

/** Whoever follows the documents makes these. */
const MADE_BY_YOU = ['config/plimsoll.yaml', 'config/.plimsoll', 'config/deploy/docker/secrets']
const isMadeByYou = (path: string) => MADE_BY_YOU.some((made) => `${path}/`.startsWith(`${made}/`))

const FOLDERS = ['config', 'jobs', 'src', 'test']

test('every path of ours that a document names is there', () => {
  const missing = documents.flatMap((document) =>
    codeOf(document)
      .filter((code) => new RegExp(`^(${FOLDERS.join('|')})/[\\w./-]*$`).test(code))
      .filter((path) => !existsSync(join(ROOT, path)) && !isMadeByYou(path))
      .map((path) => `${document.path}: ${path}`),
  )
  expect(missing).toEqual([])
})

const folderReadmes = documents.filter(({ path }) => /^(config|jobs|src|test)\/(.*\/)?README\.md$/.test(path))

test('a README of a folder names only files that are in it', () => {
  const missing = folderReadmes.flatMap((document) =>
    namedBeside(document)
      .filter((name) => !isAround(dirname(document.path), name))
      .map((name) => `${document.path}: ${name}`),
  )
  expect(missing).toEqual([])
})

/** What stands in the first column of its tables. */
function namedBeside({ text }: Document): string[] {
  const cells = [...text.matchAll(/^\| (`[^|]*) \|/gm)].map(([, cell = '']) => cell)
  return cells.flatMap((cell) => [...cell.matchAll(/`([\w.*/-]+)`/g)].map(([, name = '']) => name))
}

function isAround(folder: string, name: string): boolean {
  return /[./]/.test(name) ? existsSync(join(ROOT, folder, name)) : true
}

test.each(folderReadmes.map(({ path }) => path))('%s names every folder beside it', (path) => {
  const readme = folderReadmes.find((one) => one.path === path)
  const unnamed = readdirSync(join(ROOT, dirname(path)), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !isMadeByYou(join(dirname(path), entry.name)))
    .filter(({ name }) => !['`', ']('].some((before) => readme?.text.includes(`${before}${name}/`)))
    .map(({ name }) => name)
  expect(unnamed).toEqual([])
})

test.each(['config', 'config/schema', 'config/setup', 'jobs', 'src/http'])(
  '%s/README.md names every file beside it',
  (folder) => {
    const readme = folderReadmes.find(({ path }) => path === `${folder}/README.md`)
    const unnamed = readdirSync(join(ROOT, folder), { withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== 'README.md' && !isMadeByYou(join(folder, entry.name)))
      .filter(({ name }) => readme?.text.includes(`\`${name}\``) !== true)
      .map(({ name }) => name)
    expect(unnamed).toEqual([])
  },
)

test('the guide lists each of its pages', () => {
  const guide = documents.find(({ path }) => path === 'config/guide/README.md')
  const pages = documents
    .map(({ path }) => path)
    .filter((path) => path.startsWith('config/guide/') && path !== guide?.path)
  expect(pages.length).toBeGreaterThan(3)
  expect(pages.filter((path) => guide?.text.includes(`](${basename(path)})`) !== true)).toEqual([])
})

test('every document is linked from another one, or named by the front door where the package lacks it', () => {
  const linked = new Set(
    documents.flatMap((document) => [
      ...linksOf(document).map((link) => normalize(join(dirname(document.path), link.split('#')[0] ?? ''))),
      ...(document.path === 'README.md' ? codeOf(document) : []),
    ]),
  )
  const alone = documents.map(({ path }) => path).filter((path) => path !== 'README.md' && !linked.has(path))
  expect(alone).toEqual([])
})

test('the front door stays short', () => {
  expect(documents.find(({ path }) => path === 'README.md')?.text.split('\n').length).toBeLessThan(260)
})
