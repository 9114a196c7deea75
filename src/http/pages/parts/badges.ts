import type { AlertLevel } from '../../../alerts/alert.ts'
import type { AccountState } from '../../../redis/keys.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { type Html, html } from '../../../text/html.ts'

export function levelBadge(level: AlertLevel): Html {
  return html`<span class="badge ${level}">${level}</span>`
}

const LOOK: Record<AccountState, string> = {
  active: 'good',
  failing: 'warning',
  parked: 'warning',
  reauthorize: 'critical',
  uninstalling: 'off',
  uninstalled: 'off',
}

export function stateBadge(state: AccountState): Html {
  return html`<span class="badge ${LOOK[state]}">${state}</span>`
}

/** An account by its domain, or by its number where the provider tells none. */
export function accountLink({ hubId, hubDomain }: { hubId: number; hubDomain: string }): Html {
  const domain = cleanText(hubDomain, 80)
  if (domain === '') return html`<a href="/accounts/${hubId}">account ${hubId}</a>`
  return html`<a href="/accounts/${hubId}">${domain}</a> <span class="soft">${hubId}</span>`
}
