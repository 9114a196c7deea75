import type { Account } from '../../../accounts/account.ts'
import { opensLimits } from '../../../provider/scopes.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { formatCount } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { type AccountView, type CurrentSeries, nextPollBecause } from '../../../views/account-view.ts'
import { gapsText, leftOutText, watchText } from '../../../views/watch.ts'
import { when } from '../parts/when.ts'

export function factsPart({ account, scopes, series }: AccountView, now: number): Html {
  const { pollFailure } = account
  const leftOut = leftOutText(account)
  const gaps = gapsText(account)
  const rows: [string, Html | undefined][] = [
    ['Hub id', html`${account.hubId}`],
    ['Installed by', account.user === null || account.user === '' ? undefined : html`${cleanText(account.user, 120)}`],
    ['Connected', when(account.connectedAt, now)],
    ['Last poll', when(account.polledAt, now)],
    ['Next poll', nextPoll(account, series, now)],
    ['Failed polls', pollFailure === null ? undefined : failure(pollFailure, now)],
    ['Limits', watched(account, now)],
    ['Reports', gaps === undefined ? undefined : html`<span class="is-warning">${gaps}</span>`],
    ['Object types', leftOut === undefined ? undefined : html`<span class="is-warning">${leftOut}</span>`],
    ['Scopes', scopes.length === 0 ? undefined : scopeList(scopes)],
  ]
  const shown = rows.map(([name, value]) =>
    value === undefined
      ? undefined
      : html`<div${name === 'Scopes' ? html` class="across"` : undefined}><dt>${name}</dt><dd>${value}</dd></div>`,
  )
  return html`<dl class="facts">${shown.filter((row) => row !== undefined)}</dl>`
}

function nextPoll(account: AccountView['account'], series: readonly CurrentSeries[], now: number): Html | undefined {
  if (account.nextPollAt === null) return undefined
  const because = nextPollBecause({ account, series })
  return html`${when(account.nextPollAt, now)}${because === null ? undefined : `, because ${because}`}`
}

function watched(account: Account, now: number): Html | undefined {
  const text = watchText(account)
  return text === undefined
    ? undefined
    : html`<span class="is-warning">${cleanText(text, 300)}</span> (since ${when(account.pollBlocked?.since ?? null, now)}). Connect it again with any <code>crm.objects.*.read</code> scope: <a href="/install">the install page</a>.`
}

function failure({ count, reason, at }: { count: number; reason: string; at: number }, now: number): Html {
  return html`${formatCount(count)}, the last ${when(at, now)}: ${cleanText(reason, 300)}`
}

function scopeList(scopes: readonly string[]): Html {
  const warning = html` <span class="badge warning">none of them lets limits be read</span>`
  return html`${scopes.map((scope) => html`<code>${cleanText(scope, 80)}</code> `)}${opensLimits(scopes) ? undefined : warning}`
}
