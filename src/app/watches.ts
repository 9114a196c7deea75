import { type DiskSample, judgeDisk, sampleDisk } from '../heartbeat/disk-space.ts'
import {
  DATA,
  type DataTrouble,
  describeData,
  judgeData,
  markInstallation,
  readInstallation,
} from '../redis/installation.ts'
import { perilsOf, readServers } from '../redis/servers.ts'
import { NO_ACCOUNT, stepJson } from '../redis/steps.ts'
import { atInterval } from '../runtime/concurrency.ts'
import { freshBytes } from '../runtime/fresh-bytes.ts'
import type { Services } from './services.ts'

const CHECK_EVERY_MS = 5_000
const REWRITE_CHECK_EVERY_MS = 10_000
const DAY_MS = 86_400_000
const SAMPLE_EVERY_MS = 60_000

export interface DataWatch {
  readonly trouble: DataTrouble | undefined
  stop(): void
}

/**
 * Checks at an interval whether Redis still holds what this daemon began with, and whether its disk has room. One that came back empty, or throws keys away,
 * takes every command and reports no error: without this a daemon would go on with no accounts, and report that all is well.
 */
export async function startDataWatch(current: () => Services): Promise<DataWatch> {
  const { store, keys, log } = current()
  const began = await markInstallation(store, keys, freshBytes(12).toString('base64url'))
  const evictedBefore = await evictedKeys(current())
  await send(current(), 'over', 'A daemon has begun to work with the data that Redis holds now.')
  void warnOfPerils(current())
  const watch = { trouble: undefined as DataTrouble | undefined, stop: () => end() }
  let samples: DiskSample[] = []
  const check = async () => {
    const installation = await readInstallation(store, keys)
    // The count begins anew when the server does.
    const evicted = Math.max(0, (await evictedKeys(current())) - evictedBefore)
    const before = watch.trouble
    samples = await sampled(current(), samples)
    const disk = judgeDisk(samples)
    const low = disk === undefined ? undefined : ({ code: 'disk.low', isOurs: true, detail: disk } as const)
    watch.trouble = judgeData({ began, installation, evicted }) ?? low
    if (watch.trouble === undefined) {
      if (before?.code === 'disk.low') await send(current(), 'over', 'The disk of dataDir has room again.')
      else if (before !== undefined) log.info({ code: 'redis.data-back' }, 'Redis has its data again')
      return
    }
    if (before?.code !== watch.trouble.code) log.error({ code: watch.trouble.code }, describeData(watch.trouble))
    await send(current(), 'firing', describeData(watch.trouble))
  }
  const end = atInterval(check, CHECK_EVERY_MS)
  return watch
}

/** Once a minute, of the disk that the private Redis writes to; one that can't be asked has said nothing. */
async function sampled({ address, config, clock }: Services, before: DiskSample[]): Promise<DiskSample[]> {
  const now = clock.steady()
  const isEarly = now - (before.at(-1)?.at ?? Number.NEGATIVE_INFINITY) < SAMPLE_EVERY_MS
  if (address.kind !== 'embedded' || isEarly) return before
  return sampleDisk(config.dataDir, now, before).catch(() => before)
}

/** 0 where the server does not let itself be asked. */
async function evictedKeys({ store }: Services): Promise<number> {
  const servers = await readServers(store).catch(() => [])
  return servers.reduce((sum, { evictedKeys }) => sum + evictedKeys, 0)
}

/** In an emptied Redis an alert can be sent like any other: all that it takes is in the config. */
async function send({ store, keys, announceFleet, clock, queues }: Services, is: 'firing' | 'over', message: string) {
  const stored = (await store.hget(keys.account(NO_ACCOUNT).alerts, DATA)) ?? ''
  const now = clock.now()
  const writes = announceFleet({ trouble: DATA, is, stored, message, now })
  if (writes.entries.length === 0) return
  await store.changeAlerts(keys.own(NO_ACCOUNT), NO_ACCOUNT, stepJson(writes))
  await queues.wake('alerts', now)
}

async function warnOfPerils({ store, log }: Services): Promise<void> {
  const servers = await readServers(store).catch(() => [])
  for (const server of servers) {
    for (const { name, detail, fix } of perilsOf(server)) {
      log.warn({ code: 'redis.unsafe', server: server.address, setting: name }, `${detail}; ${fix}`)
    }
  }
}

/**
 * Has the private Redis write its file anew at the start and each day: what was deleted or replaced stays in it until then, sealed
 * tokens among it. Also after its disk was full, which may have left the file damaged, so that the next start would refuse it.
 * Another server's rewrites are set by its operator.
 */
export function tendAppendOnlyFile({ address, store, clock }: Services): () => void {
  if (address.kind !== 'embedded') return () => {}
  let rewriteAt = 0
  return atInterval(async () => {
    const [server] = await readServers(store)
    if (server?.aofWorks === false) rewriteAt = 0
    else if (clock.steady() >= rewriteAt) {
      await store.bgrewriteaof()
      rewriteAt = clock.steady() + DAY_MS
    }
  }, REWRITE_CHECK_EVERY_MS)
}
