import type { FastifyRequest } from 'fastify'
import { MATCHER_NAMES, parseMatchers } from '../../../alerts/silence.ts'
import { unlessOfOtherType } from '../../../redis/other-type.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf } from '../../../text/format-number.ts'
import { zoneName } from '../../../text/format-time.ts'
import { type Html, html } from '../../../text/html.ts'
import { unknownAccounts } from '../../../views/silenced.ts'
import { formTokenField } from '../../access/forms.ts'
import { whoOf } from '../../access/who.ts'
import { Problem } from '../../problem.ts'
import type { WebDeps } from '../../web-deps.ts'
import type { OperatorPage } from '../page.ts'
import { hidden } from '../parts/forms.ts'
import {
  checkForm,
  coveredBy,
  LENGTH_NAMES,
  OWN_END,
  readSilenceForm,
  SILENCE_LENGTHS,
  type SilenceFaults,
  type SilenceForm,
} from './silence-fields.ts'

/** A new silence, filled in by the address that leads here. */
export async function showSilenceForm(deps: WebDeps, request: FastifyRequest): Promise<OperatorPage> {
  if (!request.mayWrite) throw new Problem(403, 'To silence alerts takes an admin token with the scope write.')
  const form = readSilenceForm(request.query)
  return formPage(deps, request, { ...form, for: form.for || '4h' }, {})
}

export async function silenceByForm(deps: WebDeps, request: FastifyRequest): Promise<string | OperatorPage> {
  const form = readSilenceForm(request.body)
  const tags = deps.silences.tagNames
  if (form.do === 'preview') {
    const parsed = parseMatchers(form.match, tags)
    return formPage(deps, request, form, parsed.ok ? {} : { matchers: parsed.fault })
  }
  const checked = checkForm(form, request.caller, tags, deps.clock.now())
  if (!checked.ok) return { ...(await formPage(deps, request, form, checked.faults)), status: 400 }
  const { matchers } = await deps.actions.silence(checked.silence, whoOf(request))
  const unknown = await unknownAccounts(deps, matchers)
  return `/silences?done=${unknown.length === 0 ? 'silenced' : 'silenced-unknown'}`
}

async function formPage(
  deps: WebDeps,
  { formToken: token }: FastifyRequest,
  form: SilenceForm,
  faults: SilenceFaults,
): Promise<OperatorPage> {
  const tags = deps.silences.tagNames
  const covers = await coveredBy(deps, form)
  const parsed = parseMatchers(form.match, tags)
  const matchers = parsed.ok ? parsed.matchers : []
  const unknown = await unknownAccounts(deps, matchers)
  const account = await domainOf(deps, matchers.find(({ name }) => name === 'account')?.value ?? '')
  const part = silenceForm({ form, faults, covers, account, unknown, tags, token, now: deps.clock.now() })
  const isRight = Object.keys(faults).length === 0
  const body = html`${isRight ? undefined : html`<p class="verdict critical">Not silenced yet: correct the fields with a message.</p>`}
${part}`
  return { at: '/alerts', title: 'New silence', body }
}

async function domainOf({ store, keys }: WebDeps, account: string): Promise<string | undefined> {
  if (!/^\d{1,16}$/.test(account)) return undefined
  const domain = await unlessOfOtherType(store.hget(keys.account(Number(account)).account, 'hubDomain'), null)
  return cleanText(domain ?? '', 80) || undefined
}

interface SilenceFormPart {
  form: SilenceForm
  faults: SilenceFaults
  /** Open alerts that it would cover; undefined where it is not known. */
  covers: number | undefined
  /** Names in it that no account has. */
  unknown: readonly string[]
  /** The domain of the account that is given by its number. */
  account: string | undefined
  /** The tags that there are. */
  tags: readonly string[]
  token: string
  now: number
}

/** To make a silence. */
function silenceForm({ form, faults, covers, account, unknown, tags, token, now }: SilenceFormPart): Html {
  const zone = zoneName(now)
  const names = MATCHER_NAMES.filter((name) => name !== 'tag' || tags.length > 0)
  return html`<form method="post" action="/silences/new" class="form" id="silence">
${formTokenField(token)}
${hidden('alert', form.alert || undefined)}
<fieldset>
<legend>What</legend>
<label>Alerts that match <input name="match" value="${form.match}" maxlength="2000" autocomplete="off" placeholder="account=1234567 level=warning"${invalid('matchers', faults.matchers)}></label>
${faultText('matchers', faults.matchers)}
<p class="soft">${names.map((name, n) => html`${n === 0 ? '' : ', '}<code>${name}</code>`)}: several of one name mean any of them, different names all; <code>*</code> matches any characters.</p>
${account === undefined ? undefined : html`<p class="soft">Account: ${account}</p>`}
${unknown.map((name) => html`<p role="status" class="verdict warning">No account is called ${cleanText(name, 80)} now: the silence covers nothing until one is.</p>`)}
${coversText(covers)}
</fieldset>
<fieldset>
<legend>From when, for how long</legend>
<label>Starts (${zone}; empty: now) <input type="datetime-local" name="starts" value="${form.starts}"${invalid('startsAt', faults.startsAt)}></label>
${faultText('startsAt', faults.startsAt)}
<div class="row">
${LENGTH_NAMES.map((length) => lengthChoice(length, SILENCE_LENGTHS[length].text, form.for))}
<span class="row">${lengthChoice(OWN_END, `until (${zone})`, form.for)}
<label><span class="unseen">Until, ${zone}</span><input type="datetime-local" name="until" value="${form.until}"${invalid('endsAt', faults.endsAt)}></label></span>
</div>
${faultText('endsAt', faults.endsAt)}
</fieldset>
<label>Why (required) <input name="comment" required value="${form.comment}" maxlength="500" autocomplete="off"${invalid('comment', faults.comment)}></label>
${faultText('comment', faults.comment)}
<div class="row"><button name="do" value="silence">Silence</button><button name="do" value="preview" class="second" formnovalidate>How many alerts?</button></div>
</form>`
}

function lengthChoice(value: string, text: string, chosen: string): Html {
  return html`<label><input type="radio" name="for" value="${value}"${value === chosen ? html` checked` : undefined}> ${text}</label>`
}

function invalid(name: string, fault: string | undefined): Html | undefined {
  return fault === undefined ? undefined : html` aria-invalid="true" aria-describedby="fault-${name}"`
}

function faultText(name: string, fault: string | undefined): Html | undefined {
  return fault === undefined ? undefined : html`<p class="fault" id="fault-${name}" role="alert">${fault}</p>`
}

function coversText(covers: number | undefined): Html | undefined {
  if (covers === undefined) return undefined
  if (covers === 0) return html`<p role="status">It covers no open alerts.</p>`
  return html`<p role="status">It covers <b>${countOf(covers, 'open alert')}</b>.</p>`
}
