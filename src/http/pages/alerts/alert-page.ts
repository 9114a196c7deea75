import { subjectOf } from '../../../alerts/open-alerts.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { formatTime } from '../../../text/format-time.ts'
import { type Html, html } from '../../../text/html.ts'
import type { TimedAlert } from '../../../views/find-alerts.ts'
import type { ToldTransition } from '../../../views/told-of-account.ts'
import { formTokenField } from '../../access/form-token.ts'
import { alertPath, matchersFor } from '../parts/alert-links.ts'
import { fullnessOf, whoKnows, whoseOf } from '../parts/alert-table.ts'
import { levelBadge } from '../parts/badges.ts'
import { notificationTable } from '../parts/notifications.ts'
import { when } from '../parts/when.ts'
import { readSilenceForm } from './silence-fields.ts'
import { silenceForm } from './silence-form.ts'

export interface AlertPage {
  alert: TimedAlert
  /** Why it stands where it stands, in a sentence; undefined where nothing more is known. */
  why: string | undefined
  /** The rule that decides now, with its place in the config. */
  rule: Html | undefined
  /** When it is sent again if it still holds; null: it is sent once; undefined where that is unknown. */
  repeatFrom: number | null | undefined
  /** How its series moved, where it is about one. */
  chart: Html | undefined
  /** Newest first. */
  transitions: readonly ToldTransition[]
  /** What a silence of this very alert would cover. */
  covers: number | undefined
  tags: readonly string[]
  /** Of the forms, for whoever may change something. */
  token: string | undefined
  now: number
}

/** The full story of one alert, and what can be done about it. */
export function alertPage({
  alert,
  why,
  rule,
  repeatFrom,
  chart,
  transitions,
  covers,
  tags,
  token,
  now,
}: AlertPage): Html {
  const form = readSilenceForm({ ...matchersFor(alert), for: '4h' })
  return html`<dl class="facts">
<div><dt>Level</dt><dd>${levelBadge(alert.level)}</dd></div>
<div><dt>Account</dt><dd>${whoseOf(alert)}</dd></div>
<div><dt>Usage</dt><dd>${fullnessOf(alert)}</dd></div>
<div><dt>Since</dt><dd>${when(Date.parse(alert.since), now)} <span class="soft">${formatTime(alert.since)}</span></dd></div>
<div><dt>Rule</dt><dd>${rule ?? cleanText(alert.rule)}</dd></div>
<div><dt>Acknowledged</dt><dd>${whoKnows(alert, now)}</dd></div>
<div><dt>Silenced</dt><dd>${alert.silencedBy === undefined ? 'no' : html`by <a href="/alerts#${alert.silencedBy}">${alert.silencedBy}</a>`}</dd></div>
${repeats(alert, repeatFrom, now)}<div><dt>Alert</dt><dd><code>${idOf(alert)}</code></dd></div>
${why === undefined ? undefined : html`<div class="across"><dt>Why</dt><dd>${why}</dd></div>`}
</dl>
${chart}
${
  token === undefined
    ? undefined
    : html`${alert.acknowledged === undefined ? acknowledgeForm(alert, token) : unacknowledgeForm(alert, token)}
<details class="panel"><summary>Silence it and others like it</summary>
${silenceForm({ form, faults: {}, covers, tags, token, now })}
</details>`
}
<h2>Notifications</h2>
${notificationTable(transitions, now)}`
}

function repeats(alert: TimedAlert, from: number | null | undefined, now: number): Html | undefined {
  if (from === undefined) return undefined
  const text =
    from === null
      ? 'never: it is sent once, and when it gets worse or is resolved'
      : alert.silencedBy === undefined
        ? html`${when(from, now)}, if it still holds`
        : 'not while it is silenced'
  return html`<div><dt>Repeats</dt><dd>${text}</dd></div>
`
}

/** What it is about, for the head of its page. */
export function alertTitle(alert: TimedAlert): string {
  const subject = subjectOf(alert)
  if (alert.hubId === null) return subject
  return `${subject}, ${cleanText(alert.hubDomain ?? '', 80) || `account ${alert.hubId}`}`
}

function idOf({ id }: TimedAlert): string {
  return id.replace(/-\d+$/, '')
}

function acknowledgeForm(alert: TimedAlert, token: string): Html {
  return html`<form method="post" action="${actionPath(alert, 'acknowledge')}" class="form panel" id="acknowledge">
${formTokenField(token)}
<input type="hidden" name="level" value="${alert.level}">
<label>Comment <input name="comment" maxlength="500" autocomplete="off" placeholder="who works on it, and where"></label>
<div class="buttons"><button>Acknowledge</button> <span class="soft">It is then not sent again until it gets worse or the acknowledgement ends.</span></div>
</form>`
}

function unacknowledgeForm(alert: TimedAlert, token: string): Html {
  return html`<form method="post" action="${actionPath(alert, 'unacknowledge')}" class="form panel" id="acknowledge">
${formTokenField(token)}
<div class="buttons"><button class="second">Remove acknowledgement</button> <span class="soft">Notifications are then sent as before.</span></div>
</form>`
}

function actionPath(alert: TimedAlert, action: 'acknowledge' | 'unacknowledge'): string {
  const [path = '', query] = alertPath(alert).split('?')
  return `${path}/${action}${query === undefined ? '' : `?${query}`}`
}
