import { decodeState } from '../alerts/alert-state.ts'
import type { FleetTrouble } from '../alerts/kinds/fleet-alert.ts'
import { FLEET_SUBJECT } from '../alerts/open-alerts.ts'
import type { SilenceStore } from '../alerts/silences/silence-store.ts'
import { NOBODY } from '../redis/steps.ts'
import { type AccountViewDeps, readAccountView } from './account-view.ts'
import {
  type AccountExplanation,
  type AccountFacts,
  type ExplainSettings,
  explainAccount,
  type LoggedTransition,
} from './explain-account.ts'

export interface ExplanationDeps extends AccountViewDeps {
  silences: Pick<SilenceStore, 'active'>
  /** What an account was told of last, and what became of it, newest first. */
  transitionsOf: (hubId: number) => Promise<LoggedTransition[]>
  explain: ExplainSettings
}

/** Undefined: nobody knows the account. */
export async function readExplanation(deps: ExplanationDeps, hubId: number): Promise<AccountExplanation | undefined> {
  const now = deps.clock.now()
  const [view, states, silences, fleet, log] = await Promise.all([
    readAccountView(deps, hubId),
    deps.store.hgetall(deps.keys.account(hubId).alerts),
    deps.silences.active(now),
    openTroubles(deps),
    deps.transitionsOf(hubId),
  ])
  if (view === undefined) return undefined
  const { account, series } = view
  return explainAccount(deps.explain, { account, series, states, silences, fleet, log }, now)
}

/** Of which of an account's alerts the fleet's own speaks, as closing a group decides it. */
async function openTroubles({ store, keys }: ExplanationDeps): Promise<AccountFacts['fleet']> {
  const stored = await store.hgetall(keys.account(NOBODY).alerts)
  return Object.entries(stored).flatMap(([field, state]) => {
    const trouble = TROUBLES.find((one) => one === field)
    if (trouble === undefined || decodeState(state).level === 'ok') return []
    return [{ trouble: FLEET_SUBJECT[trouble], speaksFor: (alert) => speaksFor(trouble, alert) }]
  })
}
