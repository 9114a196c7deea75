import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import { checkMatcher, MATCHER_NAMES } from '../../../alerts/silence.ts'
import { METRICS } from '../../../limits/reports/all-reports.ts'
import { ALERT_LEVELS } from '../../../operations/searches.ts'
import { makeSilence } from '../../../operations/silences.ts'
import { countOf } from '../../../text/format-number.ts'
import { zoneName } from '../../../text/format-time.ts'
import { type Html, html } from '../../../text/html.ts'
import { OPEN_KINDS } from '../../../views/find-alerts.ts'
import { countCovered } from '../../../views/silenced.ts'
import { formTokenField } from '../../access/forms.ts'
import { asProblem } from '../../answer-error.ts'
import { Problem } from '../../problem.ts'
import { check } from '../../query.ts'
import { runForPage } from '../../run-for-page.ts'
import type { WebDeps } from '../../web-deps.ts'
import type { OperatorPage } from '../page.ts'
import { select } from '../parts/forms.ts'

/** How long a silence may be made for with one click. */
export const SILENCE_LENGTHS = { '1h': '1 hour', '4h': '4 hours', '24h': '24 hours', '7d': '7 days' } as const
/** The choice that the field for the end belongs to. */
const OWN_END = 'until'
const ONE_TEXT = 'must be one text of at most 2,000 characters'

/** A field as it was sent, or as a link fills it in. One that is dropped would make a silence wider, so none is. */
const given = z.string(ONE_TEXT).trim().max(2_000, ONE_TEXT)
const text = given.default('')
const texts = z.preprocess((sent = []) => [sent].flat(), z.array(given).max(100, 'must be at most 100'))
const FORM = z
  .object({ name: texts, value: texts, startsAt: text, for: text, endsAt: text, comment: text, do: text })
  .transform(({ name, value, ...form }) => ({
    ...form,
    rows: (name.length > value.length ? name : value).map((_, n) => ({ name: name[n] ?? '', value: value[n] ?? '' })),
  }))
type Form = z.output<typeof FORM>

/** A new silence, filled in by the address that leads here. */
export async function showSilenceForm(deps: WebDeps, request: FastifyRequest): Promise<OperatorPage> {
  if (!request.mayWrite) throw new Problem(403, 'To silence alerts you need an admin token with the scope write.')
  const form = check(FORM, request.query ?? {})
  return formPage(deps, request, { ...form, for: form.for || '4h' })
}

export async function silenceByForm(deps: WebDeps, request: FastifyRequest): Promise<string | OperatorPage> {
  const form = check(FORM, request.body ?? {})
  const { rows, startsAt, comment } = form
  if (form.do === 'add') return formPage(deps, request, { ...form, rows: [...rows, EMPTY] })
  const [, removed] = /^remove-(\d+)$/.exec(form.do) ?? []
  if (removed !== undefined) return formPage(deps, request, { ...form, rows: rows.toSpliced(Number(removed), 1) })
  if (form.do !== 'silence') return formPage(deps, request, form)
  const end = form.for === OWN_END ? { endsAt: form.endsAt } : { for: form.for }
  try {
    const { value } = await runForPage(makeSilence, deps, { matchers: rows, startsAt, comment, ...end }, request)
    return `/silences?done=${value.unknown.length === 0 ? 'silenced' : 'silenced-unknown'}`
  } catch (error) {
    const { status, faults } = asProblem(error, deps)
    if (status !== 400) throw error
    const named = Object.fromEntries(faults.map(({ parameter, detail }) => [parameter, detail]))
    return { ...(await formPage(deps, request, form, named)), status }
  }
}

const EMPTY = { name: 'account', value: '' }

/** The operation's words by the fields that they are about. */
type Faults = Readonly<Record<string, string | undefined>>

async function formPage(
  deps: WebDeps,
  request: FastifyRequest,
  form: Form,
  faults: Faults = {},
): Promise<OperatorPage> {
  const zone = zoneName(deps.clock.now())
  const { startsAt, endsAt = faults.for } = faults
  const isRefused = Object.keys(faults).length > 0
  const body = html`${!isRefused ? undefined : html`<p class="verdict critical">Not silenced yet: correct the fields with a message.</p>`}
<form method="post" action="/silences/new" class="form" data-check>
${formTokenField(request.formToken)}
<button name="do" value="check" class="visually-hidden" tabindex="-1" aria-hidden="true" formnovalidate>Check</button>
<fieldset>
<legend>Which alerts</legend>
${(form.rows.length === 0 ? [EMPTY] : form.rows).map(
  (row, n) => html`<div class="search">${select({ name: 'name', label: 'Field', of: FIELDS }, row.name)}
<label>Value <input name="value" value="${row.value}" maxlength="200" autocomplete="off" list="values-${row.name}"${invalid(`matchers.${n}`, faults)}></label>
<button name="do" value="remove-${n}" class="second" formnovalidate>Remove<span class="visually-hidden"> row ${n + 1}</span></button></div>
${faultText(`matchers.${n}`, faults)}`,
)}
${faultText('matchers', faults)}
${Object.entries(await choicesOf(deps)).map(([name, values]) => html`<datalist id="values-${name}">${values.map((value) => html`<option value="${value}">`)}</datalist>`)}
<div class="row"><button name="do" value="add" class="second" formnovalidate>Add a row</button> <b role="status" data-checked>${isRefused ? '' : await coveredText(deps, form)}</b></div>
<p class="soft">An alert must match every field. If a field has two rows, one of them is enough. <code>*</code> means any text.</p>
</fieldset>
<fieldset>
<legend>How long</legend>
<div class="row">
${Object.entries(SILENCE_LENGTHS).map(([length, words]) => lengthChoice(length, words, form.for))}
<span class="row">${lengthChoice(OWN_END, `until (${zone})`, form.for)}
<label><span class="visually-hidden">Until, ${zone}</span><input type="datetime-local" name="endsAt" value="${form.endsAt}"${invalid('endsAt', faults, endsAt)}></label></span>
</div>
${faultText('endsAt', faults, endsAt)}
<details${form.startsAt === '' && startsAt === undefined ? undefined : html` open`}><summary>Start later</summary>
<label>Starts (${zone}; empty: now) <input type="datetime-local" name="startsAt" value="${form.startsAt}"${invalid('startsAt', faults)}></label>
${faultText('startsAt', faults)}</details>
</fieldset>
<label>Why (required) <input name="comment" required value="${form.comment}" maxlength="500" autocomplete="off"${invalid('comment', faults)}></label>
${faultText('comment', faults)}
<div class="row"><button name="do" value="silence">Silence</button><button name="do" value="check" class="second" formnovalidate>Count matching alerts</button></div>
</form>`
  return { at: '/alerts', title: 'New silence', body }
}

const FIELDS = MATCHER_NAMES.map(
  (name) => [name, name.replace(/[A-Z]/, (letter) => ` ${letter.toLowerCase()}`)] as const,
)

/** Accounts to choose from at most. */
const MOST_ACCOUNTS = 200

/** Values that are offered for a field; others may be typed. */
async function choicesOf({ registry, silences, explain }: WebDeps) {
  const alerting = await registry.getMany((await registry.alerting()).slice(0, MOST_ACCOUNTS))
  const rules = explain.rules.map(({ name }) => name)
  return {
    account: alerting.map(({ hubId, hubDomain }) => hubDomain || String(hubId)).sort(),
    tag: silences.tagNames,
    rule: rules,
    kind: OPEN_KINDS,
    level: ALERT_LEVELS,
    series: METRICS,
  }
}

/** How many open alerts a form covers as it is filled in, or why that is not known. */
async function coveredText(deps: WebDeps, { rows }: Form): Promise<string> {
  const checked = rows
    .filter(({ value }) => value !== '')
    .map(({ name, value }) => checkMatcher(name, value, deps.silences.tagNames))
  const fault = checked.find((one) => !one.ok)
  if (fault !== undefined) return fault.fault
  const matchers = checked.flatMap((one) => (one.ok ? [one.matcher] : []))
  if (matchers.length === 0) return 'Choose at least one value.'
  const draft = deps.silences.withCarriers([{ id: '', matchers, author: '', comment: '', createdAt: 0, endsAt: 0 }])
  const count = (await countCovered(deps, draft)).get('') ?? 0
  return `${count === 0 ? 'No open alert matches' : countOf(count, 'open alert matches', 'open alerts match')} now.`
}

function lengthChoice(value: string, words: string, chosen: string): Html {
  return html`<label><input type="radio" name="for" value="${value}"${value === chosen ? html` checked` : undefined}> ${words}</label>`
}

function invalid(name: string, faults: Faults, fault = faults[name]): Html | undefined {
  return fault === undefined ? undefined : html` aria-invalid="true" aria-describedby="fault-${name}"`
}

function faultText(name: string, faults: Faults, fault = faults[name]): Html | undefined {
  return fault === undefined ? undefined : html`<p class="fault" id="fault-${name}" role="alert">${fault}</p>`
}
