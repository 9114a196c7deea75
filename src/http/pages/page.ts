import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Html, html } from '../../text/html.ts'
import { formToken, formTokenField } from '../access/form-token.ts'

export interface PageContent {
  title: string
  body: Html
  /** Load the page again after so many seconds. */
  refreshSeconds?: number
  /** The same where no script runs: with one, what is marked as live is kept up to date without loading. */
  refreshWithoutScript?: number
  /** Load this address instead. */
  goOnTo?: string
  /** For no search engine. */
  noIndex?: boolean
}

/** A page for one thing: no menu, a narrow column. */
export function plainPage(content: PageContent): Html {
  return frame(
    content,
    'plain',
    html`<main>
${mark()}
<h1>${content.title}</h1>
${content.body}
</main>`,
  )
}

const MENU = [
  ['/', 'Status'],
  ['/accounts', 'Accounts'],
  ['/alerts', 'Alerts'],
  ['/deliveries', 'Deliveries'],
  ['/queues', 'Queues'],
  ['/guide', 'Guide'],
] as const

export interface OperatorPage extends PageContent {
  at: (typeof MENU)[number][0] | undefined
}

/** A page of the operators. `at` is the entry of the menu that it belongs to; `signedIn` is the token of their forms. */
function operatorPage(content: OperatorPage, signedIn: string | undefined): Html {
  const links = MENU.map(
    ([path, name]) =>
      html`<a href="${path}"${path === content.at ? html` aria-current="page"` : undefined}>${name}</a>`,
  )
  const signOut =
    signedIn === undefined
      ? undefined
      : html`<form method="post" action="/sign-out">${formTokenField(signedIn)}<button class="quiet">Sign out</button></form>`
  return frame(
    content,
    'wide',
    html`<a class="skip" href="#content">Skip to the content</a>
<header><nav aria-label="Main"><a class="home" href="/">${mark()}<b>Plimsoll</b></a>${links}</nav>
${signOut}</header>
<main id="content" tabindex="-1">
<h1>${content.title}</h1>
${content.body}
</main>`,
  )
}

function frame(content: PageContent, width: 'plain' | 'wide', body: Html): Html {
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
<title>${title} · Plimsoll</title>
<link rel="icon" href="/assets/mark.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/plimsoll.css">
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

export function sendPage(reply: FastifyReply, status: number, page: Html): FastifyReply {
  return reply.code(status).type('text/html; charset=utf-8').send(page.toString())
}

/** Answers an operator, who may be signed in. */
export function showOperatorPage(
  request: FastifyRequest,
  reply: FastifyReply,
  page: OperatorPage,
  status = 200,
): FastifyReply {
  return sendPage(reply, status, operatorPage(page, request.signedIn ? formToken(request) : undefined))
}
