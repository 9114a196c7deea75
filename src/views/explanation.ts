import { acknowledgementOf, storedStates } from '../alerts/open-alerts.ts'
import { iso } from '../text/format-time.ts'
import {
  type AccountSources,
  type AccountView,
  nextPollBecause,
  readAccountView,
  seriesJson,
  withBucketSeries,
} from './account-view.ts'
import { type AccountExplanation, type ExplainedAlert, explainFacts } from './explain-account.ts'
import { type MostNotifications, readNotifications } from './notifications.ts'
import type { ExplainedAlertShape, ExplanationShape } from './shapes/explanation.ts'
import type { ViewDeps } from './view-deps.ts'

type Sources = AccountSources & Pick<ViewDeps, 'deliveries' | 'receivers' | 'explain'>

/** Undefined: the account is unknown. */
export async function readExplanation(deps: Sources, hubId: number): Promise<AccountExplanation | undefined> {
  const view = await readAccountView(deps, hubId)
  return view === undefined ? undefined : explainView(deps, view)
}

/** Explanation of an account that was read already. */
export async function explainView(
  deps: Sources,
  { account, series: read }: Pick<AccountView, 'account' | 'series'>,
  most?: MostNotifications,
): Promise<AccountExplanation> {
  const now = deps.clock.now()
  // The config is read once, since each read may give another object: the place of a rule is found by its object.
  const explain = { ...deps.explain }
  const [states, log] = await Promise.all([
    storedStates(deps.store, deps.keys, account.hubId),
    readNotifications(deps, account.hubId, most),
  ])
  const series = withBucketSeries(read, account, { rules: explain.rules, states }, now)
  return explainFacts(explain, { account, series, states, log }, now)
}

/** The explanation for the API and the command line. */
export function explanationJson({ account, standing, own, series }: AccountExplanation): ExplanationShape {
  const { hubId, hubDomain, state, polledAt, nextPollAt, nextRefreshAt } = account
  return {
    hubId,
    hubDomain,
    state,
    standing,
    polledAt: iso(polledAt),
    nextPollAt: iso(nextPollAt),
    nextPollBecause: nextPollBecause({ account, series: series.map((one) => one.series) }),
    nextRefreshAt: iso(nextRefreshAt),
    alerts: own.map(alertJson),
    series: series.map((one) => {
      const { series: read, rule, because } = one
      return { ...seriesJson(read), ...alertJson(one), because, rule }
    }),
  }
}

function alertJson(one: ExplainedAlert): ExplainedAlertShape {
  const { field, kind, subject, state, alert, since, why, acknowledged, transitions } = one
  return {
    field,
    kind,
    subject,
    state,
    alert,
    since: iso(since),
    why,
    acknowledged: acknowledged === null ? null : acknowledgementOf(acknowledged),
    transitions: transitions.map(({ ref, at, alert, fate, why: ended, waiting, attempts }) => ({
      transition: ref,
      at: iso(at),
      id: alert.id,
      kind: alert.kind,
      level: alert.level,
      reason: alert.reason,
      fate,
      why: ended,
      waiting: waiting.map((by) => ({ ...by, until: iso(by.until) })),
      attempts: [...attempts],
    })),
  }
}
