import { randomBytes } from 'node:crypto'
import type { Registry } from '../accounts/registry.ts'
import { readScores } from '../redis/read-scores.ts'
import { stepJson } from '../redis/steps.ts'
import { chunksOf } from '../runtime/chunks-of.ts'
import type { Clock } from '../runtime/clock.ts'
import { defined } from '../runtime/defined.ts'
import { isoOf } from '../text/format-time.ts'
import { DAY_MS } from '../text/wall-clock.ts'
import { type Alert, alertOf, type FleetChange, type Message } from './alert.ts'
import type { AlertsDeps } from './deps.ts'
import { composeDigest, type DigestSchedule, digestDueAt } from './digest.ts'
import { type OpenAlertSettings, openAlertMessages, readAlertedAccounts } from './open-alert-message.ts'
import { readChanges } from './read-changes.ts'
import { type Routable, receiversOf } from './route.ts'

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
