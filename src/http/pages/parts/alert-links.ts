import type { FastifyRequest } from 'fastify'
import type { Alert } from '../../../alerts/alert.ts'
import type { OpenAlert } from '../../../alerts/open-alerts.ts'
import type { Matcher, MatcherName } from '../../../alerts/silence.ts'
import { type Html, html } from '../../../text/html.ts'
import type { AccountShape } from '../../../views/shapes/account.ts'
import { formTokenField } from '../../access/forms.ts'
import { whoOf } from '../../access/who.ts'
import type { WebDeps } from '../../web-deps.ts'

/** The page of one alert. The account beside it spares looking through all of them. */
export function alertPath({ id, hubId }: Pick<OpenAlert, 'id' | 'hubId'>): string {
  return `/alerts/${id}${hubId === null ? '' : `?account=${hubId}`}`
}

/** Matchers for a silence of this very alert, each name once; to silence more, leave some out. */
export function matchersFor(
  alert: Pick<Alert, 'kind' | 'rule' | 'series' | 'level'> & Pick<OpenAlert, 'hubId'>,
): Matcher[] {
  const { hubId, kind, rule, series, level } = alert
  const { metric, objectTypeId, from, to } = series ?? {}
  const values: [name: MatcherName, value: string | undefined][] = [
    ['account', hubId?.toString()],
    series === undefined ? ['kind', kind] : ['series', metric],
    ...(Object.entries({ objectType: objectTypeId, from, to, rule, level }) as [MatcherName, string | undefined][]),
  ]
  return values.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]))
}

/** The form of a silence, filled in. */
export function newSilencePath(matchers: readonly Matcher[]): string {
  return `/silences/new?${matchers.map(({ name, value }) => new URLSearchParams({ name, value })).join('&')}`
}

type SignsLinks = Pick<WebDeps, 'actions'>

/** The signed address that connects an account and no other: for readers who may change something. */
export function reconnectUrl({ actions }: SignsLinks, hubId: number, request: FastifyRequest): string {
  return actions.reconnectLink(hubId, whoOf(request)).url
}

/** To copy it from, with or without a script. */
export function reconnectField(deps: SignsLinks, hubId: number, request: FastifyRequest): Html {
  return html`<label class="row">Reconnect link <input id="reconnect" value="${reconnectUrl(deps, hubId, request)}" readonly size="24"></label>
<button type="button" class="second" data-copy="reconnect">Copy reconnect link</button>`
}

/** The link for a customer who must reconnect: to mail it where that can be done, and to copy it. */
export async function reconnectPart(
  deps: SignsLinks,
  account: Pick<AccountShape, 'hubId' | 'contact' | 'user' | 'state' | 'watch' | 'pollFailure'>,
  request: FastifyRequest,
): Promise<Html> {
  const { hubId, state, watch } = account
  const isRefused = state === 'reauthorize' || watch === null
  const mail = await deps.actions.reconnectMailTo({ ...account, pollBlocked: watch })
  return html`<p><b>What to do:</b> ${isRefused ? 'The customer must reconnect. Send' : 'Add crm.objects.*.read to provider.scopes, then send'} the link below.</p>
<div class="row">${'to' in mail ? html`<form method="post" action="/accounts/${hubId}/reconnect-link">${formTokenField(request.formToken)}<button>Send the link to the customer</button></form>` : undefined}
${reconnectField(deps, hubId, request)}</div>
${'why' in mail ? html`<p class="soft">It can't be mailed from here: ${mail.why}.</p>` : undefined}`
}
