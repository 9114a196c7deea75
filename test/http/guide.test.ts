import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { RUNBOOK, runbookUrl } from '../../src/text/runbook.ts'
import { anchorsOf, ROOT } from '../support/documents.ts'
import { redisOfFile } from '../support/of-file.ts'
import { openServer } from './open-server.ts'

const redis = redisOfFile()

const GUIDE = readdirSync(join(ROOT, 'config/guide')).filter((name) => name.endsWith('.md') && name !== 'README.md')
const DOCUMENTS = {
  '/guide': 'guide/README.md',
  '/reference': 'reference.md',
  '/runbook': 'runbook.md',
  ...Object.fromEntries(GUIDE.map((name) => [`/guide/${name.slice(0, -3)}`, `guide/${name}`])),
}

test('guide, reference and runbook are pages, whole, and their links lead to headings that are there', async () => {
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
    for (const mark of ['```', '**', '](', '|---']) expect(withoutCode(page), path).not.toContain(mark)
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

test('a link from a mail leads to the section of its alert', async () => {
  const { get } = await openServer(redis)
  const runbook = idsOf((await get('/runbook')).text)
  for (const kind of Object.keys(RUNBOOK) as (keyof typeof RUNBOOK)[]) {
    for (const cause of [undefined, ...RUNBOOK[kind]]) {
      const { status, headers } = await get(runbookUrl('', kind, cause))
      expect(status).toBe(302)
      expect(runbook).toContain(String(headers.location).replace('/runbook#', ''))
    }
  }
})
