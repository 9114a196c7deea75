import type { FastifyInstance } from 'fastify'
import { countOf } from '../../text/format-number.ts'
import { type Html, html } from '../../text/html.ts'
import { anchorOf, type LinkTo, renderMarkdown } from '../../text/markdown.ts'
import { showOperatorPage } from './page.ts'
import { nothing } from './parts/tables.ts'
import type { VerdictReader } from './verdict-line.ts'

interface Document {
  read: () => { title: string; text: string }
  linkTo: LinkTo
}

/** A heading with the text below it, up to the next heading. */
interface Section {
  anchor: string
  title: string
  /** 2 to 4, as in `##`. */
  depth: number
  text: string
}

/** A list of all sections with a search, and a page for each section: its path is still there after signing in, an anchor is not. */
export function serveRunbook(app: FastifyInstance, verdicts: VerdictReader, { read, linkTo }: Document): void {
  app.get('/runbook', (request, reply) => {
    const { title, text } = read()
    const { q } = request.query as { q?: unknown }
    const sought = typeof q === 'string' ? q.trim().slice(0, 100) : ''
    const sections = sectionsOf(text)
    const about = renderMarkdown(text.split(/^## /m)[0] ?? '', linkTo)
    const body =
      sought === ''
        ? html`${listOfAll(sections)}\n<h2>How urgent it is</h2>\n${about}`
        : found(sections, sought, linkTo)
    return showOperatorPage(verdicts, request, reply, {
      at: '/guide',
      title,
      body: html`${searchForm(sought)}\n${body}`,
    })
  })
  app.get('/runbook/:section', (request, reply) => {
    const { section } = request.params as { section: string }
    const sections = sectionsOf(read().text)
    const at = sections.findIndex(({ anchor }) => anchor === section)
    if (at >= 0) return showOperatorPage(verdicts, request, reply, sectionPage(sections, at, linkTo))
    // A code of the log, or the name of a section that another version had.
    const sought = section.slice(0, 100)
    const body = html`${searchForm(sought)}\n${found(sections, sought, linkTo)}`
    return showOperatorPage(verdicts, request, reply, { at: '/guide', title: 'No such section', body, status: 404 })
  })
}

function sectionsOf(text: string): Section[] {
  return text
    .split(/^(?=#{2,4} )/m)
    .slice(1)
    .map((part) => {
      const [, marks = '', title = '', below = ''] = /^(#+) (.*)\n([\s\S]*)$/.exec(part) ?? []
      return { anchor: anchorOf(title), title, depth: marks.length, text: below }
    })
}

/** The sections inside the one at this place. */
function insideOf(sections: readonly Section[], at: number): readonly Section[] {
  const end = sections.findIndex(({ depth }, n) => n > at && depth <= (sections[at]?.depth ?? 0))
  return sections.slice(at + 1, end < 0 ? undefined : end)
}

/** A section with those inside it. A part of the runbook lists them instead: the log codes alone are a hundred rows. */
function sectionPage(sections: readonly Section[], at: number, linkTo: LinkTo) {
  const { title, depth, text } = sections[at] as Section
  const inside = insideOf(sections, at)
  const whole = inside.map((one) => `## ${one.title}\n${one.text}`).join('\n')
  const above = [2, 3].flatMap((level) => {
    const outer = sections.slice(0, at).findLast((one) => one.depth === level)
    return outer === undefined || level >= depth ? [] : [html` › ${linkOf(outer)}`]
  })
  const body = html`<p><a href="/runbook">Runbook</a>${above}</p>
${renderMarkdown(text, linkTo)}${depth === 2 ? listOf(inside) : renderMarkdown(whole, linkTo)}
${searchForm('')}`
  return { at: '/guide' as const, title, body }
}

function linkOf({ anchor, title }: Section): Html {
  return html`<a href="/runbook/${anchor}">${title}</a>`
}

function searchForm(sought: string): Html {
  return html`<form class="search" action="/runbook" role="search"><label class="wide">Search the runbook <input type="search" name="q" value="${sought}" maxlength="100" placeholder="alert, log code or words"></label><button>Search</button></form>`
}

/** List of the sections: their ids are the anchors of the document, so that older links to them arrive at the right line. */
function listOf(sections: readonly Section[]): Html {
  const items = sections.map((section) => {
    const [, urgency] = /\*\*Urgency\*\*: (now|today|later)\b/.exec(section.text) ?? []
    const badge = html` <span class="badge ${urgency === 'now' ? 'critical' : ''}">${urgency}</span>`
    return html`<li id="${section.anchor}">${linkOf(section)}${urgency === undefined ? undefined : badge}</li>\n`
  })
  return html`<ul class="sections">${items}</ul>`
}

function listOfAll(sections: readonly Section[]): Html {
  return html`${sections.map((part, at) =>
    part.depth > 2 ? html`` : html`<h2 id="${part.anchor}">${linkOf(part)}</h2>\n${listOf(insideOf(sections, at))}\n`,
  )}`
}

/** Sections that have every word, those that have them in the title first. Of a table only the rows that have them. */
function found(sections: readonly Section[], sought: string, linkTo: LinkTo): Html {
  const words = sought.toLowerCase().split(/\s+/)
  const has = (text: string) => words.every((word) => text.toLowerCase().includes(word))
  const hits = sections.flatMap((section) => {
    const lines = section.text.split('\n')
    const prose = lines.filter((one) => !one.startsWith('|')).join('\n')
    const [head, line, ...rows] = lines.filter((one) => one.startsWith('|'))
    const fitting = rows.filter(has)
    const table = fitting.length === 0 ? undefined : renderMarkdown([head, line, ...fitting].join('\n'), linkTo)
    const isNamed = has(`${section.anchor} ${section.title}`)
    if (!isNamed && table === undefined && !has(`${section.title} ${prose}`)) return []
    return [{ isNamed, hit: html`<h2>${linkOf(section)}</h2>\n${table ?? html`<p>${firstWords(prose)}</p>`}\n` }]
  })
  if (hits.length === 0) return nothing(`Nothing in the runbook has "${sought}".`)
  const inOrder = hits.toSorted((a, b) => Number(b.isNamed) - Number(a.isNamed)).map(({ hit }) => hit)
  return html`<p class="soft">${countOf(hits.length, 'section')}. <a href="/runbook">All sections</a></p>\n${inOrder}`
}

/** The first paragraph without its marks. */
function firstWords(text: string): string {
  const [first = ''] = text.trim().split(/\n\n|\n- /)
  return first.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1').replaceAll(/[`*]/g, '')
}
