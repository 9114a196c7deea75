import { storedStates } from '../alerts/open-alerts.ts'
import { type AccountSources, type AccountView, withBucketSeries } from './account-view.ts'
import { explainFacts } from './explain-account.ts'
import { type MostNotifications, readNotifications } from './notifications.ts'
import type { ExplanationShape } from './shapes/explanation.ts'
import type { ViewDeps } from './view-deps.ts'

type Sources = AccountSources & Pick<ViewDeps, 'deliveries' | 'receivers' | 'explain'>

/** Why alerts of an account that was read were sent, or were not. */
export async function explainView(
  deps: Sources,
  { account, series: read, details }: AccountView,
  most?: MostNotifications,
): Promise<ExplanationShape> {
  const now = deps.clock.now()
  // The config is read once, since each read may give another object: the place of a rule is found by its object.
  const explain = { ...deps.explain }
  const [states, log] = await Promise.all([
    storedStates(deps.store, deps.keys, account.hubId),
    readNotifications(deps, account.hubId, most),
  ])
  const series = withBucketSeries(read, account, { rules: explain.rules, states }, now)
  return explainFacts(explain, { account, findings: details.verdict.findings, series, states, log }, now)
}
