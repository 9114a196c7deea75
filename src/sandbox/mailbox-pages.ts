import type { Answer } from './answer.ts'
import type { Hooks } from './hooks.ts'
import type { Mail } from './inbox.ts'
import { escaped, Html, html, page } from './pages.ts'

/** A page shows the newest; the JSON of the same address has them all. */
const SHOWN = 100

export function inboxPage(mails: readonly Mail[]): Answer {
  const newest = mails.slice(-SHOWN).reverse()
  const body = html`<p><a href="/">Sandbox</a></p>
<h1>Inbox</h1>
<p class="soft">${countOf(mails.length, 'mail')}, newest first${shownNote(mails.length)}</p>
${newest.map((mail, place) => mailCard(mail, place === 0))}`
  return page(200, `Inbox (${mails.length})`, body)
}

function mailCard(mail: Mail, isOpen: boolean): Html {
  return html`<details class="card"${isOpen ? new Html(' open') : ''}>
<summary><strong>${mail.subject || '(no subject)'}</strong><br><time datetime="${mail.time}">${clockTime(mail.time)}</time> <span class="soft">to ${mail.to.join(', ')}</span></summary>
${mail.html === '' ? '' : htmlPart(mail)}
${mail.text === '' ? '' : html`<h2>As text</h2><pre>${mail.text}</pre>`}
<details><summary class="soft">Whole message</summary><pre>${mail.raw}</pre></details>
</details>`
}

/** What a stranger wrote stays in a frame without scripts, forms or an origin. */
function htmlPart(mail: Mail): Html {
  return new Html(`<iframe sandbox="" loading="lazy" title="The mail" srcdoc="${escaped(mail.html)}"></iframe>`)
}

export function hooksPage(hooks: ReturnType<Hooks['list']>): Answer {
  const newest = hooks.slice(-SHOWN).reverse()
  const body = html`<p><a href="/">Sandbox</a></p>
<h1>Webhooks</h1>
<p class="soft">${countOf(hooks.length, 'webhook')}, newest first${shownNote(hooks.length)}</p>
${newest.map(hookCard)}`
  return page(200, `Webhooks (${hooks.length})`, body)
}

function hookCard(hook: ReturnType<Hooks['list']>[number]): Html {
  const body = typeof hook.body === 'string' ? hook.body : JSON.stringify(hook.body, null, 2)
  const headers = Object.entries(hook.headers).map(
    ([name, value]) => html`<tr><td><code>${name}</code></td><td><code>${[value].flat().join(', ')}</code></td></tr>`,
  )
  return html`<details class="card">
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
