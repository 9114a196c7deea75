import { accountSteps } from '../../redis/account-steps.ts'
import { everyPartition } from '../../redis/keys.ts'
import { Failures } from '../../runtime/concurrency.ts'
import type { AlertsDeps } from '../deps.ts'
import { readableEntry } from '../outbox.ts'
import type { AlertNews } from './decide-sending.ts'

type NewsStore = Pick<AlertsDeps, 'store' | 'keys'>

/** News whose check is due, and since when (below 0: it is new). */
export interface DueNews extends AlertNews {
  dueAt: number
}

/** An unreadable entry: Plimsoll did not write it. */
export interface UnreadableNews {
  alert: string
  partition: number
  /** First word of the stored text. */
  place: string
}

/** In the place of receivers. */
export const NO_RECEIVER = '-'

/** Entries read of a partition at a time; the rest comes with the next run. */
const MOST = 2_000

export interface FoundNews {
  news: DueNews[]
  unreadable: UnreadableNews[]
  /** Else there is more in some partition. */
  isAll: boolean
  /** Partitions that can't be read keep nothing from the others. */
  failures: Failures
}

/** All news that some receiver may not have been sent. */
export async function readNews(deps: NewsStore): Promise<FoundNews> {
  const news: DueNews[] = []
  let isAll = true
  const unreadable: UnreadableNews[] = []
  const failures = new Failures()
  // The account of a partition's own number is one of it.
  await everyPartition(deps.keys, async (_, partition) => {
    const found = (await failures.of(() => accountSteps(deps.store).readNews(deps.keys.own(partition), MOST))) ?? []
    if (found.length >= 3 * MOST) isAll = false
    for (let n = 0; n + 2 < found.length; n += 3) {
      const [alert = '', dueAt = '', stored = ''] = found.slice(n, n + 3)
      const one = decodeNews(partition, alert, stored)
      if (one === undefined) unreadable.push({ alert, partition, place: stored.split(' ', 1)[0] ?? '' })
      else news.push({ ...one, dueAt: Number(dueAt) })
    }
  })
  return { news, unreadable, isAll, failures }
}

/** News as `lua/include/append-transitions.lua` writes it. */
export function decodeNews(partition: number, alert: string, stored: string): AlertNews | undefined {
  const [, place, settled, to = '', first, text = ''] = /^(\d+-\d+) (\d+) (\S+) ([01]) (.*)$/s.exec(stored) ?? []
  const entry = readableEntry(text)
  if (place === undefined || entry === undefined) return undefined
  const notified = to === NO_RECEIVER ? [] : to.split(',')
  return { alert, partition, place, settled: Number(settled), beganWithFirstReading: first === '1', notified, entry }
}

/** Makes all that waits due now: what held it back may be gone, as when a silence ends early or the config changed. */
export async function recheckWaiting(deps: NewsStore, now: number): Promise<void> {
  await everyPartition(deps.keys, (_, partition) => accountSteps(deps.store).recheck(deps.keys.own(partition), now))
}
