import { type AlertLevel, UNINSTALL_RULE } from '../alerts/alert.ts'
import { TOKEN_FIELD } from '../alerts/alert-state.ts'
import { type FleetTrouble, firstExpiry } from '../alerts/kinds/fleet-alert.ts'
import { FLEET_SUBJECT, type OpenState, subjectOf } from '../alerts/open-alerts.ts'
import { leftUndone } from '../heartbeat/daemons.ts'
import { NOBODY } from '../redis/steps.ts'
import { cleanText } from '../text/clean-text.ts'
import { countOf, formatCount, formatSpan } from '../text/format-number.ts'
import type { Cause } from '../tokens/endpoint/breaker.ts'
import { confirmationText } from './account-verdict.ts'
import { accountText, worstText } from './alert-texts.ts'
import { isBroken, type ReceiverStatus, receiverText } from './deliveries.ts'
import type { TimedAlert } from './find-alerts.ts'
import { budgetText, endpointTrouble, heartbeatText, isLow, type QueueDepth, shareText } from './fleet-health.ts'
import type { FleetStatusShape } from './shapes/fleet-status.ts'

/** Accounts in one state of trouble; each group is a list of the accounts page. */
export type Group = 'reauthorize' | 'failing' | 'parked' | 'refresh' | 'poll' | 'uninstall' | 'stale'

export interface AccountGroup {
  count: number
  /** Of these, those whose token alert is acknowledged or silenced. */
  handled: number
  /** One of the others. */
  first: { hubId: number; hubDomain: string } | undefined
  /** Its refresh token is refused: when that is confirmed at the latest, ms. */
  confirmedBy?: number | undefined
}

type OfStatus = 'at' | 'accounts' | 'tokens' | 'tokenEndpoint' | 'polls' | 'pollBudget' | 'coverage' | 'uninstalls'

/** All that the verdict on the fleet depends on. Alerts that are acknowledged or silenced are only in `handled`. */
export interface StatusFacts extends Pick<FleetStatusShape, OfStatus | 'alerts' | 'heartbeat' | 'daemons'> {
  groups: Readonly<Record<Group, AccountGroup>>
  /** The worst alert of each level that is named by nothing but its alert. */
  unnamed: Partial<Record<AlertLevel, TimedAlert>>
  /** Fields of the alerts about all accounts, or a receiver, that are handled. */
  handledFields: ReadonlySet<string>
  receivers: readonly ReceiverStatus[]
  /** Empty where a command reads that does without them. */
  queues: readonly QueueDepth[]
  /** When a sweep of each kind last finished, ms. */
  sweeps: Readonly<Record<string, number>>
  /** What the daemon that serves the page finds of itself; undefined where a command reads. */
  checks: readonly { name: string; ok: boolean; detail: string }[] | undefined
}

/** Where a trouble is seen, or what to do about it. */
export type TroubleOf =
  | { is: 'accounts'; group: Group; only?: number }
  | { is: 'alerts'; level: AlertLevel }
  | { is: 'alert'; id: string }
  | { is: 'receiver'; receiver: string }
  | { is: 'runbook'; section: string }

export interface Trouble {
  level: AlertLevel
  /** What to do about it. */
  verb: string
  /** What is wrong, and where. */
  says: string
  of: TroubleOf
}

export interface FleetVerdict {
  level: 'ok' | AlertLevel
  /** In one line. */
  says: string
  /** Worst first. */
  troubles: readonly Trouble[]
}

/** The check that is about receivers: they are judged one by one. */
export const RECEIVERS = 'receivers'

/** Whether Plimsoll and its accounts are all right: as bad as the worst of the facts. */
export function fleetVerdict(facts: StatusFacts): FleetVerdict {
  const found = [
    ...daemonTroubles(facts),
    ...fleetTroubles(facts),
    ...ownTroubles(facts),
    ...queueTroubles(facts),
    ...heartbeatTroubles(facts),
    ...tokenTroubles(facts),
    ...receiverTroubles(facts),
    ...pollTroubles(facts),
    ...uninstallTroubles(facts),
  ]
  const all = [...found, ...alertTroubles(facts, found)]
  const troubles = (['critical', 'warning'] as const).flatMap((level) => all.filter((one) => one.level === level))
  const { handled } = facts.alerts
  const known = handled === 0 ? '' : ` + ${formatCount(handled)} handled`
  const [worst, ...more] = troubles
  if (worst === undefined) return { level: 'ok', says: `${wellText(facts)}${known}`, troubles }
  const others = more.length === 0 ? '' : ` (and ${countOf(more.length, 'other problem')})`
  const says = `${worst.level === 'critical' ? 'Critical' : 'Warning'}: ${worst.says}${others}${known}`
  return { level: worst.level, says, troubles }
}

/** Where the facts can't be read. */
export function unknownVerdict(isRedisAway: boolean): FleetVerdict {
  const says = isRedisAway
    ? 'Redis does not answer: nothing is refreshed, polled or sent'
    : 'the state of Plimsoll could not be read: the log has the cause'
  return { level: 'critical', says: `Critical: ${says}`, troubles: [] }
}

function wellText({ accounts: { total, newFleet } }: StatusFacts): string {
  if (newFleet !== null) return `Nothing needs action so far; ${newFleetText(newFleet)}.`
  return total === 0 ? 'No accounts yet.' : 'All is well.'
}

/** How far an imported fleet has been read. */
export function newFleetText({ read, total }: { read: number; total: number }): string {
  return `reading a new fleet: ${formatCount(read)} of ${formatCount(total)}`
}

/** Alerts of these are named by a state: of an account, of a receiver, of the fleet. */
export function isNamedByState({ hubId, field, state }: OpenState): boolean {
  return hubId === NOBODY ? state.cause !== 'unproven' : field === TOKEN_FIELD && state.rule !== UNINSTALL_RULE
}

const critical = (verb: string, says: string, of: TroubleOf): Trouble => ({ level: 'critical', verb, says, of })
const warning = (verb: string, says: string, of: TroubleOf): Trouble => ({ level: 'warning', verb, says, of })
const STUCK: TroubleOf = { is: 'runbook', section: 'a-daemon-is-stuck' }
const NOTHING_DONE = 'nothing is refreshed, polled or sent'

function daemonTroubles({ daemons, checks }: StatusFacts): Trouble[] {
  const atWork = daemons.filter(({ silent }) => !silent)
  if (atWork.length > 0) return leftUndone(atWork).map((says) => critical('Start a daemon', says, STUCK))
  if (daemons.length > 0) return [critical('Start a daemon', `every daemon is silent: ${NOTHING_DONE}`, STUCK)]
  // A daemon that answers is at work, whether it has reported yet or not.
  return checks === undefined ? [critical('Start a daemon', `no daemon runs: ${NOTHING_DONE}`, STUCK)] : []
}

/** Sweeps that are every half minute or more often, whatever the config says. What others leave undone is overdue. */
const WATCHED_SWEEPS = ['alerts', 'uninstall', 'grants', 'coverage', 'receivers']
const LONGEST_QUIET_MS = 195_000

/** What the daemon finds of itself, and sweeps that no daemon finishes: one trouble, since one cause has many signs. */
function ownTroubles({ at, checks = [], sweeps, daemons }: StatusFacts): Trouble[] {
  const failed = checks.filter(({ name, ok }) => !ok && name !== RECEIVERS)
  const workers = daemons.filter(({ silent, roles }) => !silent && roles.includes('worker'))
  const since = Math.min(...workers.map(({ startedAt }) => Date.parse(startedAt)))
  const late = WATCHED_SWEEPS.flatMap((kind) => {
    const quietMs = Date.parse(at) - Math.max(sweeps[kind] ?? 0, since)
    const name = `sweep:${kind}`
    const isNews = quietMs > LONGEST_QUIET_MS && failed.every((one) => one.name !== name)
    return isNews ? [{ name, detail: `not finished for ${formatSpan(quietMs)}` }] : []
  })
  const [first, ...others] = [...failed, ...late]
  if (first === undefined) return []
  const also = others.length === 0 ? '' : `; also ${others.map(({ name }) => name).join(', ')}`
  return [critical('Fix the daemon', cleanText(`${first.name}: ${first.detail}${also}`, 300), STUCK)]
}

/** So long the next job of a queue may wait, as for the alert PlimsollQueueOld. */
const LONGEST_WAIT_MS = 120_000

/** Queues that grow although they move: of one that stands still the daemon itself says so. */
function queueTroubles({ at, queues, checks = [] }: StatusFacts): Trouble[] {
  const stuck = new Set(checks.flatMap(({ name, ok }) => (ok ? [] : [name])))
  return queues.flatMap(({ queue, waiting, oldestWaitingAt }) => {
    const waitedMs = Date.parse(at) - (oldestWaitingAt ?? Number.POSITIVE_INFINITY)
    if (waitedMs <= LONGEST_WAIT_MS || stuck.has(`queue:${queue}`) || stuck.has(`worker:${queue}`)) return []
    const says = `queue ${queue}: ${countOf(waiting, 'job')} waiting, the next for ${formatSpan(waitedMs)}`
    return [warning('Check the queue', says, { is: 'runbook', section: 'plimsoll-queue-old' })]
  })
}

const ENDPOINT_VERB: Record<Cause, string> = {
  credentials: 'Fix the secret',
  refused: 'Check the app',
  unreachable: 'Check the network',
  throttled: 'Wait',
}

const FLEET_VERB: Record<FleetTrouble, string> = {
  'token-endpoint': 'Check refreshes',
  clock: 'Set the clock',
  coverage: 'Check polls',
  calls: 'Check failed calls',
  data: 'Check Redis',
}

function isFailing({ tokenEndpoint }: StatusFacts): boolean {
  return tokenEndpoint !== null && tokenEndpoint.breaker !== 'closed'
}

/** What all accounts suffer from: it comes before what each of them does. */
function fleetTroubles(facts: StatusFacts): Trouble[] {
  const alerts = facts.alerts.worst.filter(
    ({ kind, field }) => kind === 'fleet' && !(field === 'token-endpoint' && isFailing(facts)),
  )
  return [
    ...endpointTroubles(facts),
    ...alerts.map(({ id, level, field, ...alert }): Trouble => {
      const verb = FLEET_VERB[field as FleetTrouble] ?? 'Check'
      return { level, verb, says: `All accounts: ${subjectOf({ level, field, ...alert })}`, of: { is: 'alert', id } }
    }),
  ]
}

/** It is a trouble as long as it lasts, also where an operator knows of it. */
function endpointTroubles(facts: StatusFacts): Trouble[] {
  const { tokenEndpoint, accounts, tokens, handledFields, at } = facts
  if (tokenEndpoint === null || !isFailing(facts)) return []
  const { active, failing, parked } = accounts.byState
  const { nearestExpiryAt } = tokens
  const isKnown = handledFields.has('token-endpoint')
  const count = active + failing + parked
  const whose = `${count === 1 ? '' : 'All '}${countOf(count, 'account')}`
  const what = tokenEndpoint.breaker === 'open' ? FLEET_SUBJECT['token-endpoint'] : 'tokens are refreshed again, slowly'
  const first = nearestExpiryAt === null ? '' : `, ${firstExpiry(Date.parse(nearestExpiryAt), Date.parse(at))}`
  const says = `${whose}: ${what} (${endpointTrouble(tokenEndpoint)})${first}${isKnown ? ', handled' : ''}`
  const cause = tokenEndpoint.cause ?? 'unreachable'
  const level = isKnown || tokenEndpoint.breaker === 'half-open' ? 'warning' : 'critical'
  return [{ level, verb: ENDPOINT_VERB[cause], says, of: { is: 'runbook', section: `fleet-${cause}` } }]
}

function heartbeatTroubles({ heartbeat }: StatusFacts): Trouble[] {
  if (heartbeat === null || (heartbeat.ok && !heartbeat.late && heartbeat.ping?.sent !== false)) return []
  const says = `heartbeat: ${cleanText(heartbeatText(heartbeat), 200)}`
  const of = { is: 'runbook', section: 'plimsoll-heartbeat-not-ok' } as const
  return [{ level: heartbeat.ok ? 'warning' : 'critical', verb: 'Check the heartbeat', says, of }]
}

/** Nothing where none of the group is left to be handled. */
function groupTroubles(
  { groups }: StatusFacts,
  group: Group,
  make: (says: string, of: TroubleOf) => Trouble,
  what: string,
): Trouble[] {
  const { count, handled, first } = groups[group]
  if (count <= handled) return []
  const more = count > 1 ? ` and ${countOf(count - 1, 'more account')}` : ''
  const whose = first === undefined ? countOf(count, 'account') : `${accountText(first)}${more}`
  const known = handled === 0 ? '' : `, ${formatCount(handled)} handled`
  const only = count === 1 && first !== undefined ? { only: first.hubId } : {}
  return [make(`${whose}: ${what}${known}`, { is: 'accounts', group, ...only })]
}

function tokenTroubles(facts: StatusFacts): Trouble[] {
  const { groups, tokens } = facts
  const lost = groupTroubles(facts, 'reauthorize', (...more) => critical('Reconnect', ...more), 'refresh token refused')
  // While the endpoint fails for all, each of them fails with it.
  if (isFailing(facts)) return lost
  const late = `refresh overdue for ${formatSpan(tokens.lateMs)}`
  const expired = tokens.overdue - groups.refresh.count
  const isGrave = expired > groups.failing.handled
  const { confirmedBy, count } = groups.failing
  const refused =
    confirmedBy === undefined ? '' : `refresh token refused, ${confirmationText(confirmedBy, Date.parse(facts.at))}`
  const what = refused === '' ? 'refresh fails' : count === 1 ? refused : `refresh fails; ${refused}`
  const fails = isGrave ? `${what}, ${countOf(expired, 'token')} expired` : what
  const verb = refused === '' ? 'Check refreshes' : 'Reconnect'
  return [
    ...lost,
    ...groupTroubles(facts, 'refresh', (...more) => critical('Check refreshes', ...more), late),
    ...groupTroubles(facts, 'failing', (...more) => (isGrave ? critical : warning)(verb, ...more), fails),
    ...groupTroubles(facts, 'parked', (...more) => warning('Wait', ...more), 'paused by the provider'),
  ]
}

function receiverTroubles({ receivers, handledFields }: StatusFacts): Trouble[] {
  const broken = receivers.filter((one) => isBroken(one) && !handledFields.has(`delivery/${one.receiver}`))
  return broken.map((status) => {
    const make = status.state === 'disabled' ? critical : warning
    const says = `${cleanText(status.receiver)} ${cleanText(receiverText(status), 160)}`
    return make('Fix the receiver', says, { is: 'receiver', receiver: status.receiver })
  })
}

function pollTroubles(facts: StatusFacts): Trouble[] {
  const { polls, coverage, pollBudget, alerts, handledFields } = facts
  const isSaid = alerts.worst.some(({ kind, field }) => kind === 'fleet' && field === 'coverage')
  const known = handledFields.has('coverage') ? ', handled' : ''
  const stale = `no fresh reading (${shareText(coverage)} have one${known})`
  const check = (says: string, of: TroubleOf) => warning('Check polls', says, of)
  const short = { is: 'runbook', section: 'plimsoll-poll-budget-short' } as const
  return [
    ...groupTroubles(facts, 'poll', check, `poll overdue for ${formatSpan(polls.lateMs)}`),
    ...(isLow(coverage) && !isSaid ? groupTroubles(facts, 'stale', check, stale) : []),
    ...(pollBudget?.short == null
      ? []
      : [warning('Raise limits.callsPerHour', `call budget ${budgetText(pollBudget)}`, short)]),
  ]
}

function uninstallTroubles(facts: StatusFacts): Trouble[] {
  const what = `uninstall overdue for ${formatSpan(facts.uninstalls.lateMs)}`
  return groupTroubles(facts, 'uninstall', (...more) => warning('Check uninstalls', ...more), what)
}

/** All that nobody has handled, level by level, where nothing above says it. */
function alertTroubles({ alerts, unnamed }: StatusFacts, others: readonly Trouble[]): Trouble[] {
  return (['critical', 'warning'] as const).flatMap((level): Trouble[] => {
    const count = alerts[level]
    const worst = unnamed[level] ?? alerts.worst.find((alert) => alert.level === level)
    if (count === 0 || (unnamed[level] === undefined && others.some((one) => one.level === level))) return []
    const example = worst === undefined ? '' : `; worst: ${accountText(worst)}, ${worstText(worst)}`
    const says = `${countOf(count, level === 'critical' ? 'critical alert' : 'warning')}${example}`
    return [{ level, verb: 'Review', says: cleanText(says, 300), of: { is: 'alerts', level } }]
  })
}
