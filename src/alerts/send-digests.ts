import { randomBytes } from 'node:crypto'
import type { Registry } from '../accounts/registry.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import type { Clock } from '../runtime/clock.ts'
import { defined } from '../runtime/defined.ts'
import type { Logger } from '../runtime/logger.ts'
import type { FleetChange } from './alert.ts'
import { DigestDraft } from './digest.ts'
import { type DigestSchedule, type DigestStore, judgeDue, type MadeDigest, nextDigestAt } from './digest-store.ts'
import { type OpenAlertSettings, openAlertMessages, readAlertedAccounts } from './open-alert-message.ts'
import { readChanges } from './read-changes.ts'
import { type Routable, type Route, receiversOf } from './route.ts'

export interface DigestSettings extends OpenAlertSettings {
  /** Of the receivers that get one. */
  schedules: ReadonlyMap<string, DigestSchedule>
  routes: readonly Route[]
  /** The most alerts that one shows. */
  max: number
}

interface DigestsWork {
  store: Store
  keys: Keys
  registry: Pick<Registry, 'alerting'>
  digests: DigestStore
  digest: DigestSettings
  queues: { wake(kind: 'alerts', at: number): Promise<void> }
  clock: Clock
  log: Logger
}

/** Accounts read at once: of a fleet that is on fire not all must be in memory together. */
const AT_ONCE = 500
/** Of each group that a digest begins with. */
const MOST_CHANGES = 10

/** Receivers whose digest is due get it, once for all daemons; those that changed in the config are planned anew. */
export async function sweepDigests(deps: DigestsWork): Promise<undefined> {
  const { digests, digest } = deps
  const planned = new Map((await digests.planned()).map((one) => [one.receiver, one.at]))
  for (const [receiver, at] of planned) {
    if (!digest.schedules.has(receiver)) await digests.forget({ receiver, at })
  }
  for (const [receiver, schedule] of digest.schedules) {
    await tendDigest(deps, receiver, schedule, planned.get(receiver)).catch((error: unknown) => {
      deps.log.error(
        { code: 'digest.error', receiver, err: error },
        'this digest could not be made: tried again in a minute',
      )
    })
  }
}

async function tendDigest(
  deps: DigestsWork,
  receiver: string,
  schedule: DigestSchedule,
  plannedAt: number | undefined,
): Promise<void> {
  const { digests, clock, log } = deps
  const now = clock.now()
  if (plannedAt === undefined || !(await digests.isPlannedBy(receiver, schedule))) {
    await digests.move({ receiver, at: plannedAt }, nextDigestAt(schedule, now), schedule)
    return
  }
  const judged = judgeDue(schedule, plannedAt, now)
  if (judged.is === 'early') return
  const { dueAt, nextAt } = judged
  const facts = { receiver, dueAt: new Date(dueAt).toISOString(), nextAt: new Date(nextAt).toISOString() }
  if (judged.is === 'missed') {
    const moved = await digests.move({ receiver, at: plannedAt }, nextAt, schedule)
    if (moved === 'moved')
      log.warn({ code: 'digest.missed', ...facts }, 'too late for this digest: only the next one is sent')
    return
  }
  const made = await makeDigest(deps, receiver, schedule, now)
  if ((await digests.move({ receiver, at: plannedAt }, nextAt, schedule, made)) === 'lost') return
  log.info(
    { code: 'digest.made', ...facts, delivery: made.deliveryId, ...made.message.data.totals },
    'a digest is on its way',
  )
  await deps.queues.wake('alerts', clock.now())
}

/** All that is open and that the routes send to the receiver. */
async function makeDigest(
  { store, keys, registry, digests, digest }: DigestsWork,
  receiver: string,
  { every }: DigestSchedule,
  now: number,
): Promise<MadeDigest> {
  const before = await digests.memory(receiver)
  const draft = new DigestDraft({ period: every, max: digest.max, now }, before)
  const isMine = (alert: Routable) => receiversOf(digest.routes, alert).includes(receiver)
  const hubIds = await registry.alerting()
  for (let from = 0; from < hubIds.length; from += AT_ONCE) {
    const accounts = await readAlertedAccounts(store, keys, hubIds.slice(from, from + AT_ONCE))
    const alerts = accounts.flatMap((account) => openAlertMessages(digest, account, now))
    draft.add(alerts, isMine)
  }
  const asked = { until: now, mostOfEach: MOST_CHANGES, isFor: (change: FleetChange) => isChangeFor(isMine, change) }
  const changed = before && (await readChanges({ store, keys }, { since: before.at, ...asked }))
  const deliveryId = `msg_${randomBytes(12).toString('hex')}`
  return { deliveryId, message: draft.message(changed), memory: draft.memory(), now }
}

/** A receiver of a level that the alert was at gets all that it did. An account's connects go where alerts about its tokens go. */
function isChangeFor(isMine: (alert: Routable) => boolean, { account, alert, from, to, via }: FleetChange): boolean {
  if (alert === undefined) {
    return isMine({ kind: 'token', level: 'critical', rule: 'token', ...defined({ account }) })
  }
  const levels = [alert.level, from, to, via].filter((one) => one === 'warning' || one === 'critical')
  return levels.some((level) => isMine({ ...alert, level }))
}
