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
  /** First word of the stored text. */
  place: string
}

/** In the place of receivers. */
export const NO_RECEIVER = '-'

/** Entries read at a time; the rest comes with the next run. */
const MOST = 10_000

export interface FoundNews {
  news: DueNews[]
  unreadable: UnreadableNews[]
  /** Else there is more. */
  isAll: boolean
}

/** All news that some receiver may not have been sent. */
export async function readNews({ store, keys }: NewsStore): Promise<FoundNews> {
  const found = await store.readNews(keys.news, keys.newsDue, MOST)
  const news: DueNews[] = []
  const unreadable: UnreadableNews[] = []
  for (let n = 0; n + 2 < found.length; n += 3) {
    const [alert = '', dueAt = '', stored = ''] = found.slice(n, n + 3)
    const one = decodeNews(alert, stored)
    if (one === undefined) unreadable.push({ alert, place: stored.split(' ', 1)[0] ?? '' })
    else news.push({ ...one, dueAt: Number(dueAt) })
  }
  return { news, unreadable, isAll: found.length < 3 * MOST }
}

/** News as `lua/include/append-transitions.lua` writes it. */
export function decodeNews(alert: string, stored: string): AlertNews | undefined {
  const [, place, settled, to = '', first, text = ''] = /^(\d+-\d+) (\d+) (\S+) ([01]) (.*)$/s.exec(stored) ?? []
  const entry = readableEntry(text)
  if (place === undefined || entry === undefined) return undefined
  const notified = to === NO_RECEIVER ? [] : to.split(',')
  return { alert, place, settled: Number(settled), beganWithFirstReading: first === '1', notified, entry }
}

/** Makes all that waits due now: what held it back may be gone, as when a silence ends early or the config changed. */
export async function recheckWaiting({ store, keys }: NewsStore, now: number): Promise<void> {
  await store.recheck(keys.newsDue, now)
}
