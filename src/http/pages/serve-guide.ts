import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { renderMarkdown } from '../../text/markdown.ts'
import { showOperatorPage } from './page.ts'

/** The documents that come with this version: from the repository, or from the folder that `npm run build` made. */
const FOLDER = new URL('../../../config/', import.meta.url)

/** The guide, the reference and the runbook: mails and pages link there, so they are here even without the internet. */
export function serveGuide(app: FastifyInstance): void {
  const documents = documentsIn(FOLDER)
  for (const [path, file] of documents) {
    app.get(path, (request, reply) => {
      const [, title = '', text = ''] = /^# (.*)\n([\s\S]*)$/.exec(readFileSync(new URL(file, FOLDER), 'utf8')) ?? []
      const body = renderMarkdown(text, (address) => linkFrom(documents, file, address))
      return showOperatorPage(request, reply, { at: '/guide', title, body })
    })
  }
  // After signing in nothing is left of an anchor, so a link to a section is a path of its own.
  app.get('/runbook/:section', (request, reply) => {
    const { section } = request.params as { section: string }
    return reply.redirect(`/runbook#${encodeURIComponent(section)}`, 302)
  })
}

/** path -> file */
function documentsIn(folder: URL): Map<string, string> {
  const pages = existsSync(new URL('guide/', folder)) ? readdirSync(new URL('guide/', folder)) : []
  const guide = pages.filter((name) => name.endsWith('.md') && name !== 'README.md')
  return new Map([
    ['/guide', 'guide/README.md'],
    ...guide.map((name): [string, string] => [`/guide/${name.slice(0, -'.md'.length)}`, `guide/${name}`]),
    ['/reference', 'reference.md'],
    ['/runbook', 'runbook.md'],
  ])
}

/** Undefined for files that are not served: the repository has them. */
function linkFrom(documents: Map<string, string>, file: string, address: string): string | undefined {
  if (/^https?:/.test(address)) return address
  const { pathname, hash } = new URL(address, `file:///${file}`)
  const to = [...documents].find(([, one]) => `/${one}` === pathname)
  return to === undefined ? undefined : to[0] + hash
}
