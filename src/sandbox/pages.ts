import type { FastifyRequest } from 'fastify'
import type { Answer } from './answer.ts'
import type { Hooks } from './hooks.ts'
import type { Mail } from './inbox.ts'

/** HTML that is safe to put into a page as it is. Only `markup` makes it, and it escapes all other values. */
class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Piece = string | number | Html | readonly Html[]

export function markup(texts: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  return new Html(texts.reduce((whole, text, place) => whole + render(pieces[place - 1] ?? '') + text))
}

function render(piece: Piece): string {
  if (piece instanceof Html) return piece.text
  if (typeof piece === 'object') return piece.map((part) => part.text).join('')
  return escaped(String(piece))
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A whole page; `wide` for lists. Nothing on it runs scripts or loads anything from elsewhere. */
export function page(status: number, title: string, body: Html, width: 'narrow' | 'wide' = 'wide'): Answer {
  const document = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body class="${width}">
${body}
</body>
</html>
`
  return { status, body: document.text, headers: PAGE_HEADERS }
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
:root { color-scheme: light dark; --ink: #1d2733; --soft: #5b6875; --line: #d8dee5; --back: #f4f6f8; --card: #fff; --accent: #0b6bcb; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5eaf0; --soft: #9aa7b5; --line: #33404d; --back: #12181f; --card: #1b232c; --accent: #6cb3ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1rem 4rem; font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back); }
body.narrow { max-width: 34rem; } body.wide { max-width: 60rem; }
h1 { font-size: 1.4rem; margin: 0 0 .5rem; } h2 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
a { color: var(--accent); } .soft, time { color: var(--soft); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.25rem; margin: 1rem 0; }
code, pre { font: 13px/1.45 ui-monospace, monospace; } pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; }
ul { padding-left: 1.2rem; } label { display: block; font-weight: 600; margin: 1rem 0 .25rem; }
select { width: 100%; padding: .5rem; font: inherit; color: inherit; background: var(--back); border: 1px solid var(--line); border-radius: 6px; }
button { font: inherit; padding: .55rem 1.4rem; border-radius: 6px; border: 1px solid var(--line); background: none; color: inherit; cursor: pointer; }
button.main { background: var(--accent); border-color: var(--accent); color: var(--card); font-weight: 600; }
.buttons { display: flex; gap: .75rem; margin-top: 1.5rem; }
summary { cursor: pointer; } iframe { width: 100%; height: 28rem; margin-top: .75rem; border: 1px solid var(--line); border-radius: 6px; background: #fff; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
`)

/** A page shows the newest; the JSON of the same address has them all. */
const SHOWN = 100

export function inboxPage(mails: readonly Mail[]): Answer {
  const newest = mails.slice(-SHOWN).reverse()
  const body = markup`<p><a href="/">Sandbox</a></p>
<h1>Inbox</h1>
<p class="soft">${countOf(mails.length, 'mail')}, newest first${shownNote(mails.length)}</p>
${newest.map((mail, place) => mailCard(mail, place === 0))}`
  return page(200, `Inbox (${mails.length})`, body)
}

function mailCard(mail: Mail, isOpen: boolean): Html {
  return markup`<details class="card"${isOpen ? new Html(' open') : ''}>
<summary><strong>${mail.subject || '(no subject)'}</strong><br><time datetime="${mail.time}">${clockTime(mail.time)}</time> <span class="soft">to ${mail.to.join(', ')}</span></summary>
${mail.html === '' ? '' : htmlPart(mail)}
${mail.text === '' ? '' : markup`<h2>As text</h2><pre>${mail.text}</pre>`}
<details><summary class="soft">Whole message</summary><pre>${mail.raw}</pre></details>
</details>`
}

/** A mail is the text of a stranger: it stays in a frame without scripts, forms or an origin. */
function htmlPart(mail: Mail): Html {
  return new Html(`<iframe sandbox="" loading="lazy" title="The mail" srcdoc="${escaped(mail.html)}"></iframe>`)
}

export function hooksPage(hooks: ReturnType<Hooks['list']>): Answer {
  const newest = hooks.slice(-SHOWN).reverse()
  const body = markup`<p><a href="/">Sandbox</a></p>
<h1>Webhooks</h1>
<p class="soft">${countOf(hooks.length, 'webhook')}, newest first${shownNote(hooks.length)}</p>
${newest.map(hookCard)}`
  return page(200, `Webhooks (${hooks.length})`, body)
}

function hookCard(hook: ReturnType<Hooks['list']>[number]): Html {
  const body = typeof hook.body === 'string' ? hook.body : JSON.stringify(hook.body, null, 2)
  const headers = Object.entries(hook.headers).map(
    ([name, value]) => markup`<tr><td><code>${name}</code></td><td><code>${[value].flat().join(', ')}</code></td></tr>`,
  )
  return markup`<details class="card">
<summary><strong>${typeOf(hook.body)}</strong><br><time datetime="${hook.time}">${clockTime(hook.time)}</time> <code>${hook.method} ${hook.path}</code></summary>
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
function clockTime(iso: string): string {
  return `${iso.slice(0, 19).replace('T', ' ')} UTC`
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function shownNote(count: number): string {
  return count > SHOWN ? ` (the newest ${SHOWN} are shown)` : ''
}
