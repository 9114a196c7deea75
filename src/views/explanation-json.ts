import { iso } from '../text/format-time.ts'
import { nextPollBecause, seriesJson } from './account-view.ts'
import { timedAttempt } from './deliveries.ts'
import type { AccountExplanation, ExplainedAlert } from './explain-account.ts'
import type { ExplainedAlertShape, ExplanationShape } from './shapes/explanation.ts'

/** Why an account was told of, or was not, as API and command line tell it. */
export function explanationJson({ account, standing, own, series }: AccountExplanation): ExplanationShape {
  const { hubId, hubDomain, state, polledAt, nextPollAt, nextRefreshAt } = account
  return {
    ...{ hubId, hubDomain, state, standing, polledAt: iso(polledAt) },
    nextPollAt: iso(nextPollAt),
    nextPollBecause: nextPollBecause({ account, series: series.map((one) => one.series) }),
    nextRefreshAt: iso(nextRefreshAt),
    alerts: own.map(alertJson),
    series: series.map((one) => {
      const { series: read, rule, passedOver, because, next } = one
      return { ...seriesJson(read), ...alertJson(one), because, rule, passedOver, next }
    }),
  }
}

function alertJson(one: ExplainedAlert): ExplainedAlertShape {
  const { field, kind, subject, state, alert, since, why, held, route, repeatFrom, transitions } = one
  return {
    ...{ field, kind, subject, state, alert, since: iso(since), why },
    held: held.map((by) => ({ ...by, until: iso(by.until) })),
    route: route === null ? null : { at: route.at, to: [...route.to] },
    repeatFrom: iso(repeatFrom),
    transitions: transitions.map(({ ref, at, alert, fate, why: ended, waiting, attempts }) => ({
      ...{ transition: ref, at: iso(at), id: alert.id, kind: alert.kind, level: alert.level, reason: alert.reason },
      ...{ fate, why: ended },
      waiting: waiting.map((by) => ({ ...by, until: iso(by.until) })),
      attempts: attempts.map(timedAttempt),
    })),
  }
}
