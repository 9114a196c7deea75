import { NO_ACCOUNT, stepJson } from '../../redis/steps.ts'
import { chunksOf } from '../../runtime/chunks-of.ts'
import { Failures } from '../../runtime/concurrency.ts'
import { isoOf } from '../../text/format-time.ts'
import { type Alert, alertOf } from '../alert.ts'
import type { AlertsDeps } from '../deps.ts'
import { openStatesOf } from '../open-alerts.ts'
import { encodeEntry, numberOf } from '../outbox.ts'
import type { AlertNews } from './decide-sending.ts'
import { decodeNews, readFields } from './read-due.ts'
import { decodeSendState } from './send-state.ts'

/** Alerts of a receiver that are looked at in one sweep, by chance: all of them come up, and none needs to be remembered. */
const SAMPLE = 200

/**
 * Alerts that a receiver was sent, and that are neither open nor unsent any more, end for it: their state could not be read, a
 * failover lost it, or the receiver was not in the config when they ended. Returns how many.
 */
export async function endLostAlerts(deps: AlertsDeps, now: number): Promise<number> {
  const failures = new Failures()
  let ended = 0
  for (const receiver of deps.receivers) {
    const settled = (await failures.of(() => readSettledAlerts(deps, receiver))) ?? []
    for (const news of settled) if (await failures.of(() => endLost(deps, receiver, news, now))) ended++
  }
  failures.throwFirst()
  return ended
}

/** Alerts that the receiver has as firing, with no transition that is unsent or waits. */
async function readSettledAlerts(deps: AlertsDeps, receiver: string): Promise<AlertNews[]> {
  const { store, keys } = deps
  const sample = await store.hrandfield(keys.delivery.known(receiver), SAMPLE, 'WITHVALUES')
  const sent = chunksOf((sample ?? []) as string[], 2).flatMap(([alert = '', stored]) => {
    const { lastSent, waits } = decodeSendState(stored)
    return lastSent === undefined || lastSent.isOver === true || waits !== undefined ? [] : alert
  })
  if (sent.length === 0) return []
  // News before what is unsent: a transition of that moment is found as one or the other.
  const stored = await readFields(deps, keys.news, sent)
  const unsent = await store.zmscore(keys.unsent, ...sent)
  return sent.flatMap((alert, n) => (unsent[n] === null ? (decodeNews(alert, stored[n] ?? '') ?? []) : []))
}

async function endLost(deps: AlertsDeps, receiver: string, news: AlertNews, now: number): Promise<boolean> {
  const { store, keys } = deps
  const { alert, entry } = news
  if (entry.alert.status === 'resolved') {
    // The receiver alone lacks the end.
    await store.zadd(keys.delivery.grouped(receiver), now, alert)
    return true
  }
  const hubId = entry.alert.account?.hubId ?? NO_ACCOUNT
  if ((await openStatesOf(store, keys, hubId)).some(({ id }) => id === alert)) return false
  // Several daemons look at once: one alone makes it unsent.
  if (Number(await store.zadd(keys.unsent, 'NX', now, alert)) === 0) return false
  // The alert may have ended meanwhile.
  const [again] = await readFields(deps, keys.news, [alert])
  if (decodeNews(alert, again ?? '')?.place !== news.place) return false
  const writes = { changes: [], entries: [encodeEntry({ ...entry, alert: endOf(entry.alert, now) })] }
  await store.changeAlerts(keys.own(hubId), hubId, stepJson(writes))
  return true
}

function endOf({ message: _, supersedes: __, ...alert }: Alert, now: number): Alert {
  return {
    ...alert,
    id: `${alertOf(alert)}-${numberOf(alert) + 1}`,
    status: 'resolved',
    reason: 'lost',
    measuredAt: isoOf(now),
    message: 'Its stored state was lost. What is still wrong is a new alert.',
  }
}
