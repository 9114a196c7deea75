import { MATCHER_NAMES, type MatcherName } from '../../../alerts/silence.ts'
import { METRICS } from '../../../limits/series.ts'
import { countOf } from '../../../text/format-number.ts'
import { zoneName } from '../../../text/format-time.ts'
import { type Html, html } from '../../../text/html.ts'
import { formTokenField } from '../../access/form-token.ts'
import { LENGTHS, type Length, OWN_END, type SilenceFaults, type SilenceForm } from './silence-fields.ts'

export interface SilenceFormPart {
  form: SilenceForm
  faults: SilenceFaults
  /** Open alerts that it would cover; undefined where it is not known. */
  covers: number | undefined
  /** The tags that there are. */
  tags: readonly string[]
  token: string
  now: number
}

/** To make a silence. Every field that is filled in narrows it. */
export function silenceForm({ form, faults, covers, tags, token, now }: SilenceFormPart): Html {
  const zone = zoneName(now)
  const names = MATCHER_NAMES.filter((name) => name !== 'tag' || tags.length > 0)
  return html`<form method="post" action="/silences/new" class="form" id="silence">
${formTokenField(token)}
${form.alert === '' ? undefined : html`<input type="hidden" name="alert" value="${form.alert}">`}
<fieldset>
<legend>What</legend>
<p class="soft">Each field that is filled in narrows it; <code>*</code> matches any characters.</p>
${faultText('matchers', faults.matchers)}
<div class="fields">
${names.map((name) => field(name, form[name], faults[name], tags))}
</div>
${coversText(covers)}
</fieldset>
<fieldset>
<legend>For how long</legend>
<div class="choices">
${(Object.keys(LENGTHS) as Length[]).map((length) => lengthChoice(length, LENGTH_TEXT[length], form.for))}
<span class="own-end">${lengthChoice(OWN_END, `until (${zone})`, form.for)}
<label class="bare"><span class="unseen">Until, ${zone}</span><input type="datetime-local" name="until" value="${form.until}"${invalid('endsAt', faults.endsAt)}></label></span>
</div>
${faultText('endsAt', faults.endsAt)}
</fieldset>
<label>Why <input name="comment" value="${form.comment}" maxlength="500" autocomplete="off"${invalid('comment', faults.comment)}></label>
${faultText('comment', faults.comment)}
<div class="buttons"><button name="do" value="silence">Silence</button><button name="do" value="preview" class="second">How many alerts?</button></div>
</form>`
}

const LENGTH_TEXT: Record<Length, string> = { '1h': '1 hour', '4h': '4 hours', '24h': '24 hours', '7d': '7 days' }

function lengthChoice(value: string, text: string, chosen: string): Html {
  return html`<label class="choice"><input type="radio" name="for" value="${value}"${value === chosen ? html` checked` : undefined}> ${text}</label>`
}

const LABEL: Record<MatcherName, string> = {
  account: 'Account',
  level: 'Level',
  kind: 'Kind',
  rule: 'Rule',
  tag: 'Tag',
  series: 'Series',
  objectType: 'Object type',
  from: 'From object type',
  to: 'To object type',
}
const HINT: Partial<Record<MatcherName, string>> = {
  account: '1234567 or *.example.com',
  rule: '*',
  objectType: '0-1 or 2-*',
  from: '0-1',
  to: '0-2',
}

function field(name: MatcherName, value: string, fault: string | undefined, tags: readonly string[]): Html {
  const known: Partial<Record<MatcherName, readonly string[]>> = {
    level: ['warning', 'critical'],
    kind: ['limit', 'limit-changed', 'token', 'poll', 'fleet', 'delivery'],
    series: METRICS,
    tag: tags,
  }
  const list = known[name]
  const suggestions =
    list === undefined
      ? undefined
      : html`<datalist id="known-${name}">${list.map((one) => html`<option value="${one}">`)}</datalist>`
  return html`<div><label>${LABEL[name]} <input name="${name}" value="${value}" maxlength="200" autocomplete="off"${placeholder(HINT[name] ?? '')}${list === undefined ? undefined : html` list="known-${name}"`}${invalid(name, fault)}></label>${suggestions}${faultText(name, fault)}</div>
`
}

function placeholder(text: string): Html | undefined {
  return text === '' ? undefined : html` placeholder="${text}"`
}

export function invalid(name: string, fault: string | undefined): Html | undefined {
  return fault === undefined ? undefined : html` aria-invalid="true" aria-describedby="fault-${name}"`
}

export function faultText(name: string, fault: string | undefined): Html | undefined {
  return fault === undefined ? undefined : html`<p class="fault" id="fault-${name}" role="alert">${fault}</p>`
}

function coversText(covers: number | undefined): Html | undefined {
  if (covers === undefined) return undefined
  if (covers === 0) return html`<p role="status" class="covers">It covers no alert that is open now.</p>`
  return html`<p role="status" class="covers">It covers <b>${countOf(covers, 'open alert')}</b>.</p>`
}
