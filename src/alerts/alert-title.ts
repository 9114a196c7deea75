import { DATA_TO_DO } from '../redis/installation.ts'
import type { Cause } from '../tokens/endpoint/breaker.ts'
import { type Alert, type AlertKind, type PollCause, UNINSTALL_RULE } from './alert.ts'
import { DELIVERY_FIELD } from './alert-state.ts'
import {
  alertOfCause,
  CHECK_STATUS,
  ENDPOINT_CAUSE,
  type FleetTrouble,
  RAISE_LIMIT,
  SEE_STATUS,
  TO_DO,
} from './kinds/fleet-alert.ts'
import { limitText, seriesName } from './series-name.ts'

/** An alert that is open, or one of its transitions, which has no field. */
type Titled = Pick<Alert, 'level' | 'rule' | 'series'> & {
  kind: AlertKind
  status?: Alert['status']
  cause?: Alert['cause']
  field?: string
}

const FLEET_TITLE: Record<FleetTrouble, string> = {
  'token-endpoint': "Tokens can't be refreshed",
  provider: "HubSpot can't be reached",
  coverage: 'Too many accounts without fresh limits',
  calls: 'Too many calls to HubSpot fail',
  data: "Redis lost Plimsoll's data",
}

const PROVIDER_TITLE: Partial<Record<string, string>> = {
  throttled: 'HubSpot throttles token refreshes',
  coverage: "Limits can't be read",
}

const POLL_TITLE: Record<PollCause, string> = {
  scopes: 'Missing permission to read limits',
  // Some limits, or all of them: the alert's message names them.
  failing: "Limits can't be read",
  unauthorized: "Can't read limits: HubSpot refuses the token",
  unreadable: "Stored data can't be read",
}

const TITLES: Partial<Record<AlertKind, (alert: Titled) => string>> = {
  token: tokenTitle,
  poll: ({ cause }) => POLL_TITLE[(cause as PollCause) ?? 'failing'],
  fleet: fleetTitle,
  delivery: deliveryTitle,
  test: () => 'This receiver works',
}

/** The one title of an alert, in lists and messages: the name of its limit, or the trouble in a few words. */
export function alertTitle(alert: Titled): string {
  const { kind, series, rule } = alert
  return series === undefined ? (TITLES[kind]?.(alert) ?? rule) : seriesName(series)
}

/** The title with the numbers of its limit: `Contacts: custom properties, 997 of 1,000`. */
export function alertText(alert: Titled & Pick<Alert, 'usage' | 'limit'>): string {
  return alert.series === undefined ? alertTitle(alert) : limitText(alert.series, alert)
}

function tokenTitle({ status, rule, cause }: Titled): string {
  const isOver = status === 'resolved'
  if (rule === UNINSTALL_RULE) return isOver ? 'Uninstall is done' : 'Uninstall not finished: token not deleted'
  if (isOver) return 'Tokens are refreshed again'
  if (cause === 'foreign') return 'The imported token belongs to another account'
  if (cause === 'unreadable-answer') return "HubSpot's answer can't be read"
  return cause === 'failing' ? "Tokens can't be refreshed" : 'Customer must reconnect'
}

function fleetTitle({ field, cause }: Titled): string {
  const ofEndpoint = Object.entries(ENDPOINT_CAUSE).find(([name]) => name === cause)?.[1]
  const trouble = field ?? (ofEndpoint === undefined ? cause : alertOfCause(cause as Cause)) ?? 'provider'
  if (trouble === 'provider') return PROVIDER_TITLE[cause ?? ''] ?? FLEET_TITLE.provider
  return `${FLEET_TITLE[trouble as FleetTrouble] ?? trouble}${ofEndpoint === undefined ? '' : ` (${ofEndpoint})`}`
}

function deliveryTitle({ field, level }: Titled): string {
  const receiver = `Receiver ${field?.slice(DELIVERY_FIELD.length) ?? ''}`.trim()
  return `${receiver}: ${level === 'critical' ? 'switched off' : 'alerts are not delivered'}`
}

export const IF_IT_LASTS = "If it lasts, check HubSpot's status page."
export const CHECK_REQUEST = "Check provider.api and HubSpot's changelog."

/** The sentence of a message that says what to do. */
export function adviceIn(message = ''): string | undefined {
  const shared = [IF_IT_LASTS, CHECK_REQUEST, CHECK_STATUS, RAISE_LIMIT, SEE_STATUS]
  const all = [...shared, ...Object.values(TO_DO), ...Object.values(DATA_TO_DO)]
  return all.find((sentence) => message.includes(sentence))
}

/** The link itself is not kept with the alert: it lasts a week, and each message and page signs its own. */
export function linkCommand({ hubId }: { hubId: number }): string {
  return `plimsoll accounts reconnect-link ${hubId} prints the link.`
}
