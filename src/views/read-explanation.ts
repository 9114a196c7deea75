import { readCircumstances } from '../alerts/groups/held.ts'
import type { Deliveries } from '../delivery/deliveries.ts'
import { type AccountView, type AccountViewDeps, readAccountView } from './account-view.ts'
import { type AccountExplanation, type ExplainSettings, explainFacts } from './explain-account.ts'
import { type MostTold, toldOfAccount } from './told-of-account.ts'

export interface ExplanationDeps extends AccountViewDeps {
  deliveries: Deliveries
  /** Names of all receivers. */
  receivers: readonly string[]
  explain: ExplainSettings
}

/** Undefined: nobody knows the account. */
export async function readExplanation(deps: ExplanationDeps, hubId: number): Promise<AccountExplanation | undefined> {
  const view = await readAccountView(deps, hubId)
  return view === undefined ? undefined : explainView(deps, view)
}

/** Of an account that was read already. */
export async function explainView(
  deps: ExplanationDeps,
  { account, series }: Pick<AccountView, 'account' | 'series'>,
  most?: MostTold,
): Promise<AccountExplanation> {
  const now = deps.clock.now()
  // One look at the config, which may be read anew at each: a rule's place is found by which object it is.
  const explain = { ...deps.explain }
  const [states, { silences, fleet }, log] = await Promise.all([
    deps.store.hgetall(deps.keys.account(account.hubId).alerts),
    readCircumstances({ ...deps, routes: explain.routes }, now),
    toldOfAccount({ ...deps, group: explain.group }, account.hubId, most),
  ])
  return explainFacts(explain, { account, series, states, silences, fleet, log }, now)
}
