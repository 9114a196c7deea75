import { randomBytes } from 'node:crypto'
import type { Registry } from '../accounts/registry.ts'
import { readScores } from '../redis/read-scores.ts'
import { stepJson } from '../redis/steps.ts'
import { chunksOf } from '../runtime/chunks-of.ts'
import type { Clock } from '../runtime/clock.ts'
import { defined } from '../runtime/defined.ts'
import { isoOf, zoneOfPeople } from '../text/format-time.ts'
import { DAY_MS, firstMomentAt, type Weekday, wallClock, weekdayOf } from '../text/wall-clock.ts'
import { type Alert, alertOf, byConsequence, type FleetChange, type FleetChanges, type Message } from './alert.ts'
import type { AlertsDeps } from './deps.ts'
import { type OpenAlertSettings, openAlertMessages, readAlertedAccounts } from './open-alert-message.ts'
import { readChanges } from './read-changes.ts'
import { type Routable, receiversOf } from './route.ts'

/** The local time at which a receiver gets its digest, in a zone. */
export interface DigestSchedule {
  every: 'day' | 'week'
  /** "HH:MM" */
  at: string
  /** The day of a weekly one. Default: mon. */
  on?: Weekday | undefined
  /** IANA; absent: as people read times. */
  timeZone?: string | undefined
}

/** The last moment up to `now` at which a digest is due. */
export function digestDueAt({ every, at, on = 'mon', timeZone = zoneOfPeople() }: DigestSchedule, now: number): number {
  const [hours = 0, minutes = 0] = at.split(':').map(Number)
  for (let day = wallClock(timeZone, now).day + 1; ; day--) {
    const isDay = every === 'day' || weekdayOf(day) === on
    const moment = isDay ? firstMomentAt(timeZone, day, hours * 60 + minutes) : undefined
    if (moment !== undefined && moment <= now) return moment
  }
}

/** All alerts that are open for a receiver, the `max` most urgent shown, and what changed since its last digest. */
export function composeDigest(
  open: readonly Alert[],
  { period, max, now, changed }: { period: 'day' | 'week'; max: number; now: number; changed: FleetChanges },
): Message {
  const count = (wanted: Alert['level']) => open.filter(({ level }) => level === wanted).length
  const alerts = open.toSorted(byConsequence).slice(0, max)
  const totals = {
    accounts: new Set(open.flatMap(({ account }) => account?.hubId ?? [])).size,
    critical: count('critical'),
    warning: count('warning'),
  }
  const data = { groupKey: `digest/${period}`, truncated: open.length - alerts.length, alerts, period, totals, changed }
  return { type: 'alert.digest', timestamp: isoOf(now), data }
}

interface DigestsWork extends Pick<AlertsDeps, 'store' | 'keys' | 'log'> {
  /** Schedules of the receivers that get a digest. */
  digests: ReadonlyMap<string, DigestSchedule>
  sending: Pick<AlertsDeps, 'routes' | 'group'>
  alerts: OpenAlertSettings
  registry: Pick<Registry, 'alerting'>
  queues: { wake(kind: 'alerts', at: number): Promise<void> }
  clock: Pick<Clock, 'now'>
}

/** Most changes of each group that a digest shows. */
const MOST_CHANGES = 10

/** Sends each digest that came due since the receiver's last one: once for all daemons, and once for several that were missed. */
export async function sweepDigests(deps: DigestsWork): Promise<undefined> {
  const { store, keys, digests, log, clock } = deps
  const sentAt = await readScores(store, keys.digests.sent)
  for (const [receiver, schedule] of digests) {
    const now = clock.now()
    const last = sentAt.get(receiver)
    // A receiver whose digest is new gets the next one. So does one whose last was sent by a clock that was ahead.
    if (last === undefined || last > now + DAY_MS) await store.zadd(keys.digests.sent, now, receiver)
    else if (digestDueAt(schedule, now) > last) {
      await sendDigest(deps, receiver, { period: schedule.every, last, now }).catch((err: unknown) => {
        log.error({ code: 'digest.error', receiver, err }, 'this digest could not be made: tried again in a minute')
      })
    }
  }
}

type DueDigest = { period: DigestSchedule['every']; last: number; now: number }

async function sendDigest(deps: DigestsWork, receiver: string, due: DueDigest): Promise<void> {
  const { store, keys, log, queues } = deps
  const message = await makeDigest(deps, receiver, due)
  const id = `msg_${randomBytes(12).toString('hex')}`
  const shown = message.data.alerts.map(alertOf).join(' ')
  const step = [receiver, due.last, due.now, id, stepJson(message), shown]
  if ((await store.sendDigest(keys.delivery.receiversDue, ...step)) === 'lost') return
  log.info({ code: 'digest.made', receiver, since: isoOf(due.last), delivery: id }, 'a digest is on its way')
  await queues.wake('alerts', due.now)
}

async function makeDigest(deps: DigestsWork, receiver: string, { period, last, now }: DueDigest): Promise<Message> {
  const { store, keys, registry, alerts, sending } = deps
  const isMine = (alert: Routable) => receiversOf(sending.routes, alert).includes(receiver)
  const open: Alert[] = []
  // In chunks: the readings of a fleet with alerts everywhere must not all be in memory.
  for (const hubIds of chunksOf(await registry.alerting())) {
    for (const account of await readAlertedAccounts(store, keys, hubIds)) {
      // One by one: they may be more than a call takes arguments.
      for (const alert of openAlertMessages(alerts, account, now)) if (isMine(alert)) open.push(alert)
    }
  }
  const isFor = (change: FleetChange) => isChangeFor(isMine, change)
  const changed = await readChanges(deps, { since: last, until: now, mostOfEach: MOST_CHANGES, isFor })
  return composeDigest(open, { period, max: sending.group.max, now, changed })
}

/** A receiver of a level that the alert was at gets all that it did. An account's connects go where alerts about its tokens go. */
function isChangeFor(isMine: (alert: Routable) => boolean, { account, alert, from, to, via }: FleetChange): boolean {
  if (alert === undefined) return isMine({ kind: 'token', level: 'critical', rule: 'token', ...defined({ account }) })
  const levels = [alert.level, from, to, via].filter((one) => one === 'warning' || one === 'critical')
  return levels.some((level) => isMine({ ...alert, level }))
}
