import { reconnectLink } from '../../../accounts/install.ts'
import type { Alert } from '../../../alerts/alert.ts'
import type { OpenAlert } from '../../../alerts/open-alerts.ts'
import type { MatcherName } from '../../../alerts/silence.ts'
import { type Html, html } from '../../../text/html.ts'
import type { WebDeps } from '../../web-deps.ts'

/** The page of one alert. The account beside it spares looking through all of them. */
export function alertPath({ id, hubId }: Pick<OpenAlert, 'id' | 'hubId'>): string {
  return `/alerts/${id}${hubId === null ? '' : `?account=${hubId}`}`
}

/** What a silence of this very alert matches by, each name once; whoever wants more to be silent leaves some out. */
export function matchersFor(
  alert: Pick<Alert, 'kind' | 'rule' | 'series' | 'level'> & Pick<OpenAlert, 'hubId'>,
): SilenceFields {
  const { hubId, kind, rule, series, level } = alert
  return {
    ...(hubId === null ? {} : { account: String(hubId) }),
    ...(series === undefined ? { kind } : { series: series.metric }),
    ...(series?.objectTypeId === undefined ? {} : { objectType: series.objectTypeId }),
    ...(series?.from === undefined ? {} : { from: series.from }),
    ...(series?.to === undefined ? {} : { to: series.to }),
    ...{ rule, level },
  }
}

/** What a form of a silence has in its fields. */
export type SilenceFields = Partial<Record<MatcherName, string>>

/** The form of a silence, filled in. */
export function newSilencePath(fields: SilenceFields): string {
  return `/silences/new?${new URLSearchParams(fields)}`
}

type SignsLinks = Pick<WebDeps, 'connect' | 'publicUrl' | 'clock'>

/** The signed address that connects an account and no other: for readers who may change something. */
export function reconnectUrl({ connect, publicUrl, clock }: SignsLinks, hubId: number): string {
  return reconnectLink(connect.vault, publicUrl, hubId, clock.now()).url
}

/** To copy it from, with or without a script. */
export function reconnectField(deps: SignsLinks, hubId: number): Html {
  return html`<label class="copy">Reconnect link <input id="reconnect" value="${reconnectUrl(deps, hubId)}" readonly size="24"></label>
<button type="button" class="second" data-copy="reconnect">Copy reconnect link</button>`
}
