import type { FastifyRequest } from 'fastify'
import { type Html, html } from '../../../text/html.ts'
import { cookieOf } from '../../access/session.ts'

/** Values of a filter's query; an absent one narrows nothing. */
export type FilterValues = Readonly<Record<string, string | undefined>>

interface Choice {
  name: string
  label: string
  /** Values to choose from, with their words; the first of the list is for all. */
  of: readonly (readonly [value: string, text: string])[]
}

/** A choice whose values are also its words. */
export function choice(name: string, label: string, all: string, values: readonly string[]): Choice {
  return { name, label, of: [['', all], ...values.map((value) => [value, value] as const)] }
}

export function select({ name, label, of }: Choice, chosen: string | undefined): Html {
  const options = of.map(
    ([value, text]) =>
      html`<option value="${value}"${value === (chosen ?? '') ? html` selected` : undefined}>${text}</option>`,
  )
  return html`<label>${label} <select name="${name}">${options}</select></label>`
}

/** A form that narrows a list: on a phone it is folded, unless it does. */
export function filters(isNarrowed: boolean, form: Html): Html {
  return html`<details class="filters"${isNarrowed ? html` open` : undefined}><summary>Search and filter</summary>
${form}</details>`
}

/** A value that a form carries along; nothing where there is none. */
export function hidden(name: string, value = ''): Html {
  return value === '' ? html`` : html`<input type="hidden" name="${name}" value="${value}">`
}

/** The address of a page with a filter: empty values are left out. */
export function withQuery(path: string, values: FilterValues): string {
  const given = Object.entries(values).filter((pair): pair is [string, string] => (pair[1] ?? '') !== '')
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`
}

/** Outcomes of a form, as the address of the page after it names them. The words never come from the address. */
const DONE = {
  acknowledged: 'Acknowledged: no notification until it gets worse or the acknowledgement ends.',
  already: 'It was acknowledged before, and still is.',
  withdrawn: 'The acknowledgement is removed: notifications are sent as before.',
  'not-acknowledged': 'It was not acknowledged, or the acknowledgement has ended.',
  'some-worse': 'Acknowledged, except for what got worse since the page was loaded.',
  'nothing-chosen': 'Nothing was chosen: tick an account or an alert first.',
  silenced: 'Silenced: no notification before the silence ends.',
  'silenced-unknown': 'Silenced, but no account has that name now: it covers nothing until one has.',
  unsilenced: 'The silence is ended: what it covered and still fires is sent now.',
  over: 'The silence had ended before.',
  polled: 'Polled: its limits were read.',
  refreshed: 'Refreshed: its tokens are new.',
  uninstalling: 'The uninstall has begun.',
  'contact-set': 'The contact is set.',
  'contact-removed': 'The contact is removed.',
  tested: 'The test message was delivered.',
  replayed: 'Sent again: the table shows what still waits.',
  'nothing-replayed': 'Nothing was sent again: nothing waits or was given up, or the receiver is switched off.',
  mailed: 'The link is on its way to the customer.',
} as const

const WARNINGS: ReadonlySet<Done> = new Set(['some-worse', 'silenced-unknown', 'nothing-chosen', 'nothing-replayed'])

export type Done = keyof typeof DONE

const DONE_COOKIE = 'plimsoll-done'
/** The header that ends it with the page that showed the note. */
export const NOTE_SHOWN = `${DONE_COOKIE}=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict`

/** The header by which the next page shows what was done, once: its address stays, and would say so at every reload. */
export function noteOnce(path: string): string {
  const done = new URL(path, 'http://localhost').searchParams.get('done') ?? ''
  return `${DONE_COOKIE}=${encodeURIComponent(done)}; Max-Age=60; Path=/; HttpOnly; SameSite=Strict`
}

/** `?done=...` of a page that a form just led to; other values show nothing. */
export function doneNote({ query, headers }: Pick<FastifyRequest, 'query' | 'headers'>): Html | undefined {
  const { done } = (query ?? {}) as Record<string, unknown>
  if (done !== cookieOf(headers.cookie, DONE_COOKIE)) return undefined
  const known = (Object.keys(DONE) as Done[]).find((one) => one === done)
  return known && note(WARNINGS.has(known) ? 'warning' : 'good', DONE[known])
}

function note(look: 'good' | 'warning', text: string): Html {
  return html`<p class="verdict ${look}" role="status">${text}</p>`
}
