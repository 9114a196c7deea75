import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import { MATCHER_NAMES, parseMatchers } from '../../../alerts/silence.ts'
import { makeSilence } from '../../../operations/silences.ts'
import { countOf } from '../../../text/format-number.ts'
import { zoneName } from '../../../text/format-time.ts'
import { type Html, html } from '../../../text/html.ts'
import { countCovered } from '../../../views/silenced.ts'
import { formTokenField } from '../../access/forms.ts'
import { asProblem } from '../../answer-error.ts'
import { Problem } from '../../problem.ts'
import { runForPage } from '../../run-for-page.ts'
import type { WebDeps } from '../../web-deps.ts'
import type { OperatorPage } from '../page.ts'

/** How long a silence may be made for with one click. */
export const SILENCE_LENGTHS = { '1h': '1 hour', '4h': '4 hours', '24h': '24 hours', '7d': '7 days' } as const
/** The choice that the field for the end belongs to. */
const OWN_END = 'until'

/** The fields as they were sent, or as a link fills them in: a missing one is empty. */
const text = z.string().max(2_000).catch('')
const FORM = z.object({ match: text, startsAt: text, for: text, endsAt: text, comment: text, do: text })
type Form = z.output<typeof FORM>

/** A new silence, filled in by the address that leads here. */
export async function showSilenceForm(deps: WebDeps, request: FastifyRequest): Promise<OperatorPage> {
  if (!request.mayWrite) throw new Problem(403, 'To silence alerts you need an admin token with the scope write.')
  const form = FORM.parse(request.query ?? {})
  return formPage(deps, request, { ...form, for: form.for || '4h' })
}

export async function silenceByForm(deps: WebDeps, request: FastifyRequest): Promise<string | OperatorPage> {
  const form = FORM.parse(request.body ?? {})
  if (form.do === 'preview') return formPage(deps, request, form)
  const { match, startsAt, comment } = form
  const end = form.for === OWN_END ? { endsAt: form.endsAt } : { for: form.for }
  try {
    const { value } = await runForPage(makeSilence, deps, { match, startsAt, comment, ...end }, request)
    return `/silences?done=${value.unknown.length === 0 ? 'silenced' : 'silenced-unknown'}`
  } catch (error) {
    const { status, faults } = asProblem(error, deps)
    if (status !== 400) throw error
    const named = Object.fromEntries(faults.map(({ parameter, detail }) => [parameter, detail]))
    return { ...(await formPage(deps, request, form, named)), status }
  }
}

/** The operation's words by the fields that they are about. */
type Faults = Readonly<Record<string, string>>

async function formPage(
  deps: WebDeps,
  { formToken: token }: FastifyRequest,
  form: Form,
  faults?: Faults,
): Promise<OperatorPage> {
  const body =
    faults === undefined
      ? html`${silenceForm(deps, form, token, {}, await coveredText(deps, form))}`
      : html`<p class="verdict critical">Not silenced yet: correct the fields with a message.</p>
${silenceForm(deps, form, token, faults)}`
  return { at: '/alerts', title: 'New silence', body }
}

/** How many open alerts a form covers as it is filled in, or why that is not known. */
async function coveredText(deps: WebDeps, { match }: Form): Promise<string | undefined> {
  const parsed = parseMatchers(match, deps.silences.tagNames)
  if (!parsed.ok) return parsed.fault
  const { matchers } = parsed
  if (matchers.length === 0) return undefined
  const draft = deps.silences.withCarriers([{ id: '', matchers, author: '', comment: '', createdAt: 0, endsAt: 0 }])
  const count = (await countCovered(deps, draft)).get('') ?? 0
  return `It covers ${count === 0 ? 'no open alerts' : countOf(count, 'open alert')}.`
}

function silenceForm({ silences, clock }: WebDeps, form: Form, token: string, faults: Faults, covered?: string): Html {
  const zone = zoneName(clock.now())
  const names = MATCHER_NAMES.filter((name) => name !== 'tag' || silences.tagNames.length > 0)
  const { match, startsAt, endsAt = faults.for, comment } = faults
  return html`<form method="post" action="/silences/new" class="form" id="silence">
${formTokenField(token)}
<fieldset>
<legend>What</legend>
<label>Alerts that match <input name="match" value="${form.match}" maxlength="2000" autocomplete="off" placeholder="account=1234567 level=warning"${invalid('match', match)}></label>
${faultText('match', match)}
<p class="soft">${names.map((name, n) => html`${n === 0 ? '' : ', '}<code>${name}</code>`)}: several of one name mean any of them, different names all; <code>*</code> matches any characters.</p>
${covered === undefined ? undefined : html`<p role="status">${covered}</p>`}
</fieldset>
<fieldset>
<legend>From when, for how long</legend>
<label>Starts (${zone}; empty: now) <input type="datetime-local" name="startsAt" value="${form.startsAt}"${invalid('startsAt', startsAt)}></label>
${faultText('startsAt', startsAt)}
<div class="row">
${Object.entries(SILENCE_LENGTHS).map(([length, words]) => lengthChoice(length, words, form.for))}
<span class="row">${lengthChoice(OWN_END, `until (${zone})`, form.for)}
<label><span class="unseen">Until, ${zone}</span><input type="datetime-local" name="endsAt" value="${form.endsAt}"${invalid('endsAt', endsAt)}></label></span>
</div>
${faultText('endsAt', endsAt)}
</fieldset>
<label>Why (required) <input name="comment" required value="${form.comment}" maxlength="500" autocomplete="off"${invalid('comment', comment)}></label>
${faultText('comment', comment)}
<div class="row"><button name="do" value="silence">Silence</button><button name="do" value="preview" class="second" formnovalidate>How many alerts?</button></div>
</form>`
}

function lengthChoice(value: string, words: string, chosen: string): Html {
  return html`<label><input type="radio" name="for" value="${value}"${value === chosen ? html` checked` : undefined}> ${words}</label>`
}

function invalid(name: string, fault: string | undefined): Html | undefined {
  return fault === undefined ? undefined : html` aria-invalid="true" aria-describedby="fault-${name}"`
}

function faultText(name: string, fault: string | undefined): Html | undefined {
  return fault === undefined ? undefined : html`<p class="fault" id="fault-${name}" role="alert">${fault}</p>`
}
