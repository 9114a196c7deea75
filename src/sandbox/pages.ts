import type { FastifyRequest } from 'fastify'
import { Html, html } from '../text/html.ts'
import type { Answer } from './answer.ts'
import type { Hook, Mail } from './arrivals.ts'

/** A whole page; `wide` for lists. Nothing on it runs scripts or loads anything from elsewhere. */
export function page(status: number, title: string, body: Html, width: 'narrow' | 'wide' = 'wide'): Answer {
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body class="${width}">
${body}
</body>
</html>
`
  return { status, body: document.toString(), headers: PAGE_HEADERS }
}

/** True where a person's browser is asking. Programs that accept anything, or JSON among other things, get JSON. */
export function wantsPage(request: FastifyRequest): boolean {
  const accept = request.headers.accept ?? ''
  return accept.includes('text/html') && !accept.includes('application/json')
}

const PAGE_HEADERS = {
  'content-type': 'text/html;charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-src 'self'; base-uri 'none'",
  'referrer-policy': 'no-referrer',
}

const STYLE = new Html(`
:root { color-scheme: light dark; --soft: light-dark(#5b6875, #9aa7b5); --line: light-dark(#d8dee5, #33404d); --card: light-dark(#fff, #1b232c); --accent: light-dark(#0b6bcb, #6cb3ff); }
body { margin: 0 auto; padding: 2rem 1rem 4rem; font: 16px/1.5 system-ui, sans-serif; color: light-dark(#1d2733, #e5eaf0); background: light-dark(#f4f6f8, #12181f); }
body.narrow { max-width: 34rem; } body.wide { max-width: 60rem; }
h1 { font-size: 1.4rem; margin: 0 0 .5rem; } h2 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
a { color: var(--accent); } .soft, time { color: var(--soft); } summary { cursor: pointer; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.25rem; margin: 1rem 0; }
code, pre { font: 13px/1.45 ui-monospace, monospace; } pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; }
label { display: block; font-weight: 600; margin: 1rem 0 .25rem; } select, button { font: inherit; padding: .5rem 1rem; }
.buttons { display: flex; gap: .75rem; margin-top: 1.5rem; }
iframe { width: 100%; height: 28rem; margin-top: .75rem; border: 1px solid var(--line); background: #fff; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
`)

/** A page shows the newest; the JSON of the same address has them all. */
const SHOWN = 100

export function inboxPage(mails: readonly Mail[]): Answer {
  return listPage('Inbox', mails, mailCard)
}

export function hooksPage(hooks: readonly Hook[]): Answer {
  return listPage('Webhooks', hooks, hookCard)
}

function listPage<T>(title: string, all: readonly T[], card: (one: T, place: number) => Html): Answer {
  const shown = all.length > SHOWN ? `, the newest ${SHOWN} are shown` : ''
  const body = html`<p><a href="/">Sandbox</a></p>
<h1>${title}</h1>
<p class="soft">${all.length} so far, newest first${shown}</p>
${all.slice(-SHOWN).reverse().map(card)}`
  return page(200, `${title} (${all.length})`, body)
}

/** A mail is the text of a stranger: it stays in a frame without scripts, forms or an origin. */
function mailCard(mail: Mail, place: number): Html {
  const frame = html`<iframe sandbox="" loading="lazy" title="The mail" srcdoc="${mail.html}"></iframe>`
  return html`<details class="card"${place === 0 ? html` open` : undefined}>
<summary><strong>${mail.subject || '(no subject)'}</strong><br>${timeOf(mail)} <span class="soft">to ${mail.to.join(', ')}</span></summary>
${mail.html === '' ? undefined : frame}
${mail.text === '' ? undefined : html`<h2>As text</h2><pre>${mail.text}</pre>`}
<details><summary class="soft">Whole message</summary><pre>${mail.raw}</pre></details>
</details>`
}

function hookCard(hook: Hook): Html {
  const body = typeof hook.body === 'string' ? hook.body : JSON.stringify(hook.body, null, 2)
  const headers = Object.entries(hook.headers).map(
    ([name, value]) => html`<tr><td><code>${name}</code></td><td><code>${[value].flat().join(', ')}</code></td></tr>`,
  )
  return html`<details class="card">
<summary><strong>${typeOf(hook.body)}</strong><br>${timeOf(hook)} <code>${hook.method} ${hook.path}</code></summary>
<pre>${body}</pre>
<details><summary class="soft">Headers</summary><table>${headers}</table></details>
</details>`
}

/** Most senders name the event in `type`. */
function typeOf(body: unknown): string {
  const type = typeof body === 'object' && body !== null && 'type' in body ? body.type : undefined
  return typeof type === 'string' ? type : 'webhook'
}

/** `2026-11-21T10:00:00.000Z` as `2026-11-21 10:00:00 UTC`. */
function timeOf({ time }: { time: string }): Html {
  return html`<time datetime="${time}">${time.slice(0, 19).replace('T', ' ')} UTC</time>`
}
