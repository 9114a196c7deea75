import { randomBytes } from 'node:crypto'
import type { Registry } from '../accounts/registry.ts'
import { unlessOfOtherType } from '../redis/other-type.ts'
import { readScores } from '../redis/read-scores.ts'
import { stepJson } from '../redis/steps.ts'
import { chunksOf } from '../runtime/chunks-of.ts'
import type { Clock } from '../runtime/clock.ts'
import { defined } from '../runtime/defined.ts'
import { isoOf } from '../text/format-time.ts'
import { DAY_MS } from '../text/wall-clock.ts'
import { type Alert, alertOf, type FleetChange } from './alert.ts'
import type { AlertsDeps } from './deps.ts'
import { composeDigest, decodeDigest, encodeDigest } from './digest.ts'
import { type DigestSchedule, judgeDigest } from './digest-schedule.ts'
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

/** Most changes of each group that a digest begins with. */
const MOST_CHANGES = 10

/** Receivers whose digest is due get it, once for all daemons; those that changed in the config are planned anew. */
export async function sweepDigests(deps: DigestsWork): Promise<undefined> {
  const { store, keys, digests, log } = deps
  const planned = await readScores(store, keys.digests.due)
  for (const receiver of planned.keys()) {
    if (digests.has(receiver)) continue
    // The last one may be on its way still: what ends goes behind it.
    await unlessOfOtherType(store.hdel(keys.digests.of(receiver), 'told'), 0)
    await store.zrem(keys.digests.due, receiver)
  }
  for (const [receiver, schedule] of digests) {
    await tendDigest(deps, receiver, schedule, planned.get(receiver)).catch((err: unknown) => {
      log.error({ code: 'digest.error', receiver, err }, 'this digest could not be made: tried again in a minute')
    })
  }
}

async function tendDigest(deps: DigestsWork, receiver: string, schedule: DigestSchedule, plannedAt?: number) {
  const { store, keys, clock, log, queues } = deps
  const now = clock.now()
  const { is, dueAt, nextAt } = judgeDigest(schedule, plannedAt, now)
  if (is === 'early') return
  const made = is === 'due' ? await makeDigest(deps, receiver, schedule, { dueAt, now }) : []
  const plan = [receiver, plannedAt ?? '', nextAt, now]
  if ((await store.moveDigest(keys.delivery.deliveriesDue, ...plan, ...made)) === 'lost' || is === 'unplanned') return
  if (is === 'due' && made.length === 0) return
  const facts = { receiver, dueAt: isoOf(dueAt), nextAt: isoOf(nextAt) }
  if (is === 'missed') {
    log.warn({ code: 'digest.missed', ...facts }, 'too late for this digest: only the next one is sent')
  } else {
    log.info({ code: 'digest.made', ...facts, delivery: made[0] }, 'a digest is on its way')
    await queues.wake('alerts', clock.now())
  }
}

interface DueDigest {
  dueAt: number
  now: number
}

/**
 * The delivery of a digest and the text that the next one is compared with, as the step takes them; nothing where it
 * was made already.
 */
async function makeDigest(deps: DigestsWork, receiver: string, { every }: DigestSchedule, { dueAt, now }: DueDigest) {
  const { store, keys, registry, alerts, sending } = deps
  const last = decodeDigest(await store.hget(keys.digests.of(receiver), 'told'))
  // The later of two daemons whose clocks differ by hours plans the same moment anew.
  if (last !== undefined && dueAt <= last.at && last.at < now + DAY_MS) return []
  const open: Alert[] = []
  // In chunks: the readings of a fleet with alerts everywhere must not all be in memory.
  for (const hubIds of chunksOf(await registry.alerting())) {
    const accounts = await readAlertedAccounts(store, keys, hubIds)
    // One by one: they may be more than a call takes arguments.
    for (const account of accounts) for (const alert of openAlertMessages(alerts, account, now)) open.push(alert)
  }
  const isMine = (alert: Routable) => receiversOf(sending.routes, alert).includes(receiver)
  const asked = { until: now, mostOfEach: MOST_CHANGES, isFor: (change: FleetChange) => isChangeFor(isMine, change) }
  const changed = last && (await readChanges(deps, { since: last.at, ...asked }))
  const { message, made } = composeDigest(open, isMine, { period: every, max: sending.group.max, now, last, changed })
  const shown = message.data.alerts.map(alertOf).join(' ')
  return [`msg_${randomBytes(12).toString('hex')}`, stepJson(message), shown, encodeDigest(made)]
}

/** A receiver of a level that the alert was at gets all that it did. An account's connects go where alerts about its tokens go. */
function isChangeFor(isMine: (alert: Routable) => boolean, { account, alert, from, to, via }: FleetChange): boolean {
  if (alert === undefined) return isMine({ kind: 'token', level: 'critical', rule: 'token', ...defined({ account }) })
  const levels = [alert.level, from, to, via].filter((one) => one === 'warning' || one === 'critical')
  return levels.some((level) => isMine({ ...alert, level }))
}
