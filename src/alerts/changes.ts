import {
  type AccountEventName,
  type Alert,
  type AlertLevel,
  type ChangeName,
  compareRanks,
  type FleetChange,
  rankOf,
  subjectKey,
  UNINSTALL_RULE,
} from './alert.ts'

export const ACCOUNT_EVENTS: readonly ChangeName[] = [
  'uninstalled',
  'reconnected',
  'connected',
] satisfies AccountEventName[]

/** Changes by the group in which they are shown; both worst first. */
const NAMES_OF = {
  accounts: ['lost', 'uninstalled', 'reconnected', 'recovered', 'connected'],
  worse: ['entered', 'worse'],
  limits: ['limit'],
  better: ['eased', 'left'],
} as const satisfies Record<string, readonly ChangeName[]>

export type ChangeGroup = keyof typeof NAMES_OF
export const CHANGE_GROUPS = Object.keys(NAMES_OF) as readonly ChangeGroup[]
export const CHANGE_NAMES: readonly ChangeName[] = Object.values(NAMES_OF).flat()

/** An account came, came back or went. */
export interface AccountEvent {
  hubId: number
  event: AccountEventName
  /** ms */
  at: number
}

type State = AlertLevel | 'ok'

/**
 * Net changes from the transitions and events of a span, both oldest first: one for each account and series. Repeated
 * messages change nothing. Alerts that an uninstall closed are part of the uninstall.
 */
export function netChanges(alerts: readonly Alert[], events: readonly AccountEvent[]): FleetChange[] {
  const counted = alerts.filter(({ kind, reason }) => kind !== 'test' && reason !== 'lost')
  const bySubject = Map.groupBy(counted, subjectKey)
  const accounts = accountChanges(events)
  const changes: FleetChange[] = []
  for (const transitions of bySubject.values()) {
    const last = transitions.at(-1) as Alert
    if (last.reason === 'uninstalled') addUninstall(accounts, last)
    else changes.push(...changeOf(transitions, last))
  }
  const kept = changes.filter((change) => !isPartOfReconnect(change, accounts))
  return [...kept, ...accounts.values()]
}

function changeOf(transitions: readonly Alert[], last: Alert): FleetChange[] {
  const [first = last] = transitions
  const { records: _, supersedes: __, ...alert } = last
  const of = {
    at: last.measuredAt,
    ...(last.account === undefined ? {} : { account: last.account }),
    times: transitions.filter(({ reason }) => reason !== 'repeat').length,
    alert,
  }
  if (last.kind === 'limit-changed') {
    const [from, to, between] = [first.previous?.limit, last.limit, last.previous?.limit]
    if (from === undefined || to === undefined) return []
    return [{ change: 'limit', ...of, from, to, ...(from === to && between !== undefined ? { via: between } : {}) }]
  }
  if (of.times === 0) return []
  const levels = levelsOf(transitions)
  return [{ change: nameOf(levels, last), ...of, ...levels }]
}

interface Levels {
  from: State
  to: State
  via?: State
}

const RANK: Record<State, number> = { ok: 0, warning: 1, critical: 2 }

function levelsOf(transitions: readonly Alert[]): Levels {
  const [first, ...others] = transitions.map(stateAfter)
  const [from, to] = [stateBefore(transitions[0]), others.at(-1) ?? first ?? 'ok']
  if (from !== to) return { from, to }
  const farthest = [first ?? from, ...others].reduce((a, b) => (away(b, from) > away(a, from) ? b : a))
  return farthest === from ? { from, to } : { from, to, via: farthest }
}

function away(state: State, from: State): number {
  return Math.abs(RANK[state] - RANK[from])
}

function stateAfter({ status, level }: Alert): State {
  return status === 'resolved' ? 'ok' : level
}

function stateBefore(alert: Alert | undefined): State {
  switch (alert?.reason) {
    case undefined:
    case 'entered':
      return 'ok'
    case 'escalated':
      return 'warning'
    case 'eased':
      return 'critical'
    default:
      return alert?.level ?? 'ok'
  }
}

/** A refused refresh token means that the account is lost until it is connected again. */
function nameOf({ from, to, via }: Levels, { kind, rule, cause }: Alert): ChangeName {
  const isToken = kind === 'token' && rule !== UNINSTALL_RULE && cause !== 'failing'
  if (isToken && to === 'critical') return 'lost'
  if (isToken && (from === 'critical' || via === 'critical')) return 'recovered'
  if (to === 'ok') return 'left'
  if (from === 'ok' || via === 'ok') return 'entered'
  if (from === to) return via === 'critical' ? 'eased' : 'worse'
  return to === 'critical' ? 'worse' : 'eased'
}

function accountChanges(events: readonly AccountEvent[]): Map<number, FleetChange> {
  const changes = new Map<number, FleetChange>()
  for (const { hubId, event, at } of events) {
    const { times = 0, change, before = change } = changes.get(hubId) ?? {}
    changes.set(hubId, {
      change: event,
      at: new Date(at).toISOString(),
      account: { hubId, hubDomain: '' },
      ...(before === undefined || before === event ? {} : { before }),
      times: times + 1,
    })
  }
  return changes
}

/** The log of accounts may not have an uninstall any more: then the alerts that it closed show it. */
function addUninstall(accounts: Map<number, FleetChange>, { account, measuredAt }: Alert): void {
  if (account === undefined) return
  const known = accounts.get(account.hubId)
  if (known !== undefined) known.account = account
  else accounts.set(account.hubId, { change: 'uninstalled', at: measuredAt, account, times: 1 })
}

/** An account that was connected again has tokens that work: that it was lost before is shown there. */
function isPartOfReconnect(
  { change, account, from }: FleetChange,
  accounts: ReadonlyMap<number, FleetChange>,
): boolean {
  const reconnected = change === 'recovered' && account !== undefined ? accounts.get(account.hubId) : undefined
  if (reconnected === undefined || reconnected.change === 'uninstalled') return false
  if (from !== 'critical') reconnected.before ??= 'lost'
  return true
}

export function groupOf({ change }: Pick<FleetChange, 'change'>): ChangeGroup {
  return CHANGE_GROUPS.find((group) => (NAMES_OF[group] as readonly ChangeName[]).includes(change)) ?? 'better'
}

/** By group, then by the consequence; a limit that went down comes before those that went up. Of equals the newest first. */
export function worstFirst(changes: readonly FleetChange[]): FleetChange[] {
  return changes
    .map((change) => ({ change, place: placeOf(change) }))
    .sort(
      (a, b) => compareRanks(a.place, b.place) || Number(a.change.at < b.change.at) - Number(a.change.at > b.change.at),
    )
    .map(({ change }) => change)
}

function placeOf({ change, from, to, alert }: FleetChange): number[] {
  const group = groupOf({ change })
  const names: readonly ChangeName[] = NAMES_OF[group]
  const within = group === 'accounts' ? names.indexOf(change) : Number(group === 'limits' && Number(to) > Number(from))
  return [CHANGE_GROUPS.indexOf(group), within, ...(alert === undefined ? [] : rankOf(alert))]
}
