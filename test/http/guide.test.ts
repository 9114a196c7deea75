import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { RUNBOOK, runbookUrl } from '../../src/text/runbook.ts'
import { anchorsOf, ROOT } from '../support/documents.ts'
import { redisOfFile } from '../support/of-file.ts'
import { openServer } from './open-server.ts'

const redis = redisOfFile()

const GUIDE = readdirSync(join(ROOT, 'config/guide')).filter(
  (name) => name.endsWith('.md') && !['README.md', 'runbook.md'].includes(name),
)
const DOCUMENTS = {
  '/guide': 'guide/README.md',
  '/reference': 'reference.md',
  '/guide/deploying': 'deploy/README.md',
  '/guide/monitoring': 'deploy/monitoring.md',
  ...Object.fromEntries(GUIDE.map((name) => [`/guide/${name.slice(0, -3)}`, `guide/${name}`])),
}

test('guide and reference are pages, whole, and their links lead to headings that are there', async () => {
  const { get } = await openServer(redis)
  const pages = new Map<string, string>()
  for (const path of Object.keys(DOCUMENTS)) {
    const { status, text } = await get(path)
    expect(status, path).toBe(200)
    pages.set(path, text)
  }
  for (const [path, file] of Object.entries(DOCUMENTS)) {
    const source = { path: file, text: readFileSync(join(ROOT, 'config', file), 'utf8') }
    const page = pages.get(path) ?? ''
    expect(idsOf(page), path).toEqual(anchorsOf(source).slice(1))
    for (const mark of ['```', '**', '](', '|---', '&lt;!--']) expect(withoutCode(page), path).not.toContain(mark)
    for (const [, to = ''] of page.matchAll(/<a href="([^"]+#[^"]+)"/g)) {
      const [at = '', anchor = ''] = to.split('#')
      expect(idsOf(pages.get(at === '' ? path : at) ?? ''), `${path} -> ${to}`).toContain(anchor)
    }
  }
})

function idsOf(page: string): string[] {
  return [...page.matchAll(/<h[234] id="([^"]+)"/g)].map(([, id = '']) => id)
}

function withoutCode(page: string): string {
  return page.replaceAll(/<code>[\s\S]*?<\/code>/g, '')
}

/** Every link to the runbook that a page of the guide has. */
test('links of the guide to the runbook lead to its sections, and no document is named without its page', async () => {
  const { get } = await openServer(redis)
  const { text } = await get('/guide')
  expect(text).toContain('<a href="/guide/deploying">deploying</a> and <a href="/guide/monitoring">monitoring</a>')
  expect(text).not.toContain('.md')
  for (const path of ['/runbook/token', '/runbook', ...Object.keys(DOCUMENTS)]) {
    for (const [, to = ''] of (await get(path)).text.matchAll(/href="(\/runbook\/[^"]+)"/g))
      expect((await get(to)).status, to).toBe(200)
  }
})

const RUNBOOK_TEXT = readFileSync(join(ROOT, 'config/guide/runbook.md'), 'utf8')

test('the runbook is a list of its sections, each with its old anchor and a page of its own', async () => {
  const { get } = await openServer(redis)
  const { text } = await get('/runbook')
  const anchors = anchorsOf({ path: '', text: RUNBOOK_TEXT }).slice(1)
  const ids = [...text.matchAll(/<(?:h2|li) id="([^"]+)"/g)].map(([, id = '']) => id)
  expect(ids).toEqual(anchors)
  for (const anchor of anchors) {
    const page = await get(`/runbook/${anchor}`)
    expect([page.status, page.text.includes('<h1>')], anchor).toEqual([200, true])
  }
})

test('a section has those inside it and no others', async () => {
  const { get } = await openServer(redis)
  const failing = (await get('/runbook/token-failing')).text
  expect(failing).toContain('<h1>token: failing</h1>')
  expect(failing).toContain('<a href="/runbook/alerts">Alerts</a> › <a href="/runbook/token">token</a>')
  expect(failing).not.toContain('token: foreign')
  const token = (await get('/runbook/token')).text
  expect(idsOf(token)).toEqual(['token-failing', 'token-reauthorize', 'token-foreign', 'token-uninstall'])
})

test('a search finds sections by words and by log code, names first, and escapes what was sought', async () => {
  const { get } = await openServer(redis)
  const linksOf = (text: string) => [...text.matchAll(/<h2><a href="([^"]+)"/g)].map(([, to]) => to)
  const code = (await get('/runbook?q=redis.unwritten')).text
  expect(linksOf(code)).toEqual(['/runbook/redis-and-keys'])
  expect(code).toContain('<code>redis.unwritten</code>')
  expect(code).not.toContain('<code>redis.gone</code>')
  expect(linksOf((await get('/runbook?q=Breaker+OPEN')).text)[0]).toBe('/runbook/plimsoll-breaker-open')
  const none = await get(`/runbook?q=${encodeURIComponent('<b>zzz')}`)
  expect([none.status, linksOf(none.text)]).toEqual([200, []])
  expect(none.text).toContain('has &quot;&lt;b&gt;zzz&quot;')
  const unknown = await get('/runbook/redis.unwritten')
  expect([unknown.status, linksOf(unknown.text)]).toEqual([404, ['/runbook/redis-and-keys']])
})

test('a link from a mail leads to the section of its alert', async () => {
  const { get } = await openServer(redis)
  for (const kind of Object.keys(RUNBOOK) as (keyof typeof RUNBOOK)[]) {
    for (const cause of [undefined, ...RUNBOOK[kind]]) {
      const { status, text } = await get(runbookUrl('', kind, cause))
      expect([status, text.includes(`<h1>${kind}${cause === undefined ? '' : `: ${cause}`}</h1>`)]).toEqual([200, true])
    }
  }
})
