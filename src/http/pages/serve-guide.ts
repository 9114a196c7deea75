import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { renderMarkdown } from '../../text/markdown.ts'
import { showOperatorPage } from './page.ts'
import { serveRunbook } from './serve-runbook.ts'
import type { VerdictReader } from './verdict-line.ts'

/** The documents that come with this version: from the repository, or from the folder that `npm run build` made. */
const FOLDER = new URL('../../../config/', import.meta.url)

/** The guide, the reference and the runbook: mails and pages link there, so they are here even without the internet. */
export function serveGuide(app: FastifyInstance, verdicts: VerdictReader): void {
  const documents = documentsIn(FOLDER)
  for (const [path, file] of documents) {
    const read = () => documentOf(readFileSync(new URL(file, FOLDER), 'utf8'))
    const linkTo = (address: string) => linkFrom(documents, file, address)
    if (path === '/runbook') serveRunbook(app, verdicts, { read, linkTo })
    else {
      app.get(path, (request, reply) => {
        const { title, text } = read()
        return showOperatorPage(verdicts, request, reply, { at: '/guide', title, body: renderMarkdown(text, linkTo) })
      })
    }
  }
}

function documentOf(markdown: string): { title: string; text: string } {
  const [, title = '', text = ''] = /^# (.*)\n([\s\S]*)$/.exec(markdown) ?? []
  return { title, text }
}

/** path -> file */
function documentsIn(folder: URL): Map<string, string> {
  const pages = existsSync(new URL('guide/', folder)) ? readdirSync(new URL('guide/', folder)) : []
  const guide = pages.filter((name) => name.endsWith('.md') && !['README.md', 'runbook.md'].includes(name))
  return new Map([
    ['/guide', 'guide/README.md'],
    ...guide.map((name): [string, string] => [`/guide/${name.slice(0, -'.md'.length)}`, `guide/${name}`]),
    ['/guide/deploying', 'deploy/README.md'],
    ['/guide/monitoring', 'deploy/monitoring.md'],
    ['/reference', 'reference.md'],
    ['/runbook', 'guide/runbook.md'],
  ])
}

/** Undefined for files that are not served: the repository has them. */
function linkFrom(documents: Map<string, string>, file: string, address: string): string | undefined {
  if (/^https?:/.test(address)) return address
  const { pathname, hash } = new URL(address, `file:///${file}`)
  const [path] = [...documents].find(([, one]) => `/${one}` === pathname) ?? []
  if (path === undefined) return undefined
  return path === '/runbook' ? path + hash.replace('#', '/') : path + hash
}
