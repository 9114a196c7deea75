import type { FastifyReply, FastifyRequest } from 'fastify'
import packageJson from '../../../package.json' with { type: 'json' }
import type { FleetVerdict } from '../../checks/verdict.ts'
import { zoneName } from '../../text/format-time.ts'
import { type Html, html } from '../../text/html.ts'
import { formTokenField } from '../access/forms.ts'
import { BRAND_LOGO, BRAND_STYLE, type Brand } from '../brand.ts'
import type { WebDeps } from '../web-deps.ts'
import { personText } from './parts/cells.ts'
import { doneNote, NOTE_SHOWN } from './parts/forms.ts'
import { markTimes } from './parts/times.ts'
import { type VerdictReader, verdictLine } from './verdict-line.ts'

export interface PageContent {
  title: string
  body: Html
  /** Load the page again after so many seconds. */
  refreshSeconds?: number
  /** The same where no script runs: with one, the parts marked as live are kept up to date without loading. */
  refreshWithoutScript?: number
  /** Load this address instead. */
  goOnTo?: string
  /** For no search engine. */
  noIndex?: boolean
}

/** A page for one thing, in a narrow column without a menu. Of a brand: with its name, logo and color in place of ours. */
export function plainPage(content: PageContent, brand?: Brand): Html {
  const { name, logo, support } = brand ?? {}
  const title = name === undefined ? undefined : html`<p><b>${name}</b></p>`
  const head = logo === undefined ? title : html`<img class="logo" src="${BRAND_LOGO}" alt="${name ?? 'Logo'}">`
  const body = html`<main>
${brand === undefined ? mark() : head}
<h1>${content.title}</h1>
${content.body}
${support && html`<p class="soft">Questions? Write to <a href="mailto:${support}">${support}</a>.</p>`}
</main>`
  return frame(content, 'plain', body, brand)
}

const MENU = [
  ['/', 'Status'],
  ['/accounts', 'Accounts'],
  ['/upcoming', 'Upcoming'],
  ['/alerts', 'Alerts'],
  ['/changes', 'Changes'],
  ['/deliveries', 'Deliveries'],
  ['/rules', 'Rules'],
  ['/audit', 'Audit'],
] as const

/** A page of the operators. */
export interface OperatorPage extends PageContent {
  /** The entry of the menu that it belongs to. */
  at?: (typeof MENU)[number][0]
  /** Default: 200. */
  status?: number
  /** In place of the title on the page. */
  head?: Html | undefined
  /** On all of Plimsoll, where the page is made of it: it needs no line about it. */
  verdict?: FleetVerdict
}

/** The page at an address of the operators, or the address that it leads to. */
export type ShowPage = (deps: WebDeps, request: FastifyRequest) => Promise<OperatorPage | string>
/** Does the action of a form: then the address to go to, or the page with the form's faults. */
export type DoForm = (deps: WebDeps, request: FastifyRequest) => Promise<string | OperatorPage>

/** Answers an operator, who may be signed in. */
export async function showOperatorPage(
  verdicts: VerdictReader,
  request: FastifyRequest,
  reply: FastifyReply,
  page: OperatorPage,
  now: number,
): Promise<FastifyReply> {
  const line =
    page.head === undefined ? verdictLine(page.verdict ?? (await verdicts.read()), request.method === 'GET') : undefined
  const links = MENU.filter(([path]) => path !== '/audit' || request.mayAudit).map(
    ([path, name]) => html`<a href="${path}"${path === page.at ? html` aria-current="page"` : undefined}>${name}</a>`,
  )
  const signOut = html`<form method="post" action="/sign-out">${formTokenField(request.formToken)}<button class="small">Sign out</button></form>`
  const note = doneNote(request)
  if (note !== undefined) reply.header('set-cookie', NOTE_SHOWN)
  const body = html`<a class="visually-hidden" href="#content">Skip to the content</a>
<header><a href="/">${mark()}<b>Plimsoll</b></a>
<nav aria-label="Main">${links}</nav>
${request.caller === '' ? undefined : html`<span class="who"><span class="visually-hidden">Signed in as </span>${personText(request.caller)}</span>`}${request.signedIn ? signOut : undefined}</header>
${line}
<main id="content" tabindex="-1">
${note}${page.head ?? html`<h1>${page.title}</h1>`}
${page.body}
</main>
<footer>Plimsoll ${packageJson.version} · <a href="/api">Documentation and API</a> · <span data-zone>Times are in ${zoneName(now)}</span></footer>`
  return sendPage(reply, page.status ?? 200, markTimes(frame(page, 'wide', body).toString()))
}

function frame(content: PageContent, width: 'plain' | 'wide', body: Html, brand: Brand = { name: 'Plimsoll' }): Html {
  const { title, refreshSeconds, refreshWithoutScript, goOnTo, noIndex } = content
  const refresh = goOnTo === undefined ? refreshSeconds : html`0; url=${goOnTo}`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${refresh === undefined ? undefined : html`<meta http-equiv="refresh" content="${refresh}">`}
${refreshWithoutScript === undefined ? undefined : html`<noscript><meta http-equiv="refresh" content="${refreshWithoutScript}"></noscript>`}
${noIndex === true ? html`<meta name="robots" content="noindex, nofollow">` : undefined}
<title>${title}${brand.name === undefined ? '' : ` · ${brand.name}`}</title>
<link rel="icon" href="${brand.logo === undefined ? '/assets/mark.svg' : BRAND_LOGO}" type="${brand.logo?.type ?? 'image/svg+xml'}">
<link rel="stylesheet" href="/assets/plimsoll.css">
${brand.color === undefined ? undefined : html`<link rel="stylesheet" href="${BRAND_STYLE}">`}
${width === 'wide' ? html`<script src="/assets/live.js" defer></script>` : undefined}
</head>
<body class="${width}">
${body}
</body>
</html>
`
}

/** The mark on a ship's hull: a circle with a line through it. */
function mark(): Html {
  return html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><circle cx="16" cy="16" r="9"/><path d="M1 16h30"/></svg>`
}

export function sendPage(reply: FastifyReply, status: number, page: Html | string): FastifyReply {
  return reply.code(status).type('text/html; charset=utf-8').send(page.toString())
}
