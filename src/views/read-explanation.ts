import { readCircumstances } from '../alerts/groups/circumstances.ts'
import type { Deliveries } from '../delivery/deliveries.ts'
import { type AccountViewDeps, readAccountView } from './account-view.ts'
import { type AccountExplanation, type ExplainSettings, explainAccount } from './explain-account.ts'
import { toldOfAccount } from './told-of-account.ts'

export interface ExplanationDeps extends AccountViewDeps {
  deliveries: Deliveries
  /** Names of all receivers. */
  receivers: readonly string[]
  explain: ExplainSettings
}

/** Undefined: nobody knows the account. */
export async function readExplanation(deps: ExplanationDeps, hubId: number): Promise<AccountExplanation | undefined> {
  const now = deps.clock.now()
  const [view, states, { silences, fleet }, log] = await Promise.all([
    readAccountView(deps, hubId),
    deps.store.hgetall(deps.keys.account(hubId).alerts),
    readCircumstances({ ...deps, routes: deps.explain.routes }, now),
    toldOfAccount({ ...deps, group: deps.explain.group }, hubId),
  ])
  if (view === undefined) return undefined
  const { account, series } = view
  return explainAccount(deps.explain, { account, series, states, silences, fleet, log }, now)
}
