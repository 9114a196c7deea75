import {
  DATA,
  type DataTrouble,
  describeData,
  judgeData,
  markInstallation,
  readInstallation,
} from '../redis/data-trouble.ts'
import { perilsOf, readServers } from '../redis/servers.ts'
import { accountStepKeys, NOBODY, stepJson } from '../redis/steps.ts'
import { atInterval } from '../runtime/concurrency.ts'
import { freshBytes } from '../runtime/fresh-bytes.ts'
import type { Parts } from './parts.ts'
import { fleetAnnouncements } from './token-endpoint.ts'

export interface DataWatch {
  readonly trouble: DataTrouble | undefined
  stop(): void
}

const LOOK_EVERY_MS = 5_000

/**
 * Checks at an interval whether Redis still holds what this daemon began with. One that came back empty, or throws keys away,
 * takes every command and reports no error: without this a daemon would go on with no accounts, and report that all is well.
 */
export async function startDataWatch(parts: () => Parts): Promise<DataWatch> {
  const { store, keys, log } = parts()
  const began = await markInstallation(store, keys, freshBytes(12).toString('base64url'))
  const evictedBefore = await evictedKeys(parts())
  await tell(parts(), 'over', 'A daemon has begun to work with what Redis holds now.')
  void warnOfPerils(parts())
  const watch = { trouble: undefined as DataTrouble | undefined, stop: () => end() }
  const look = async () => {
    const installation = await readInstallation(store, keys)
    // The count begins anew when the server does.
    const evicted = Math.max(0, (await evictedKeys(parts())) - evictedBefore)
    const before = watch.trouble
    watch.trouble = judgeData({ began, installation, evicted })
    if (watch.trouble === undefined) {
      if (before !== undefined) log.info({ code: 'redis.data-back' }, 'Redis holds again what this daemon began with')
      return
    }
    if (before?.isOurs !== watch.trouble.isOurs) {
      const code = watch.trouble.isOurs ? 'redis.evicts' : 'redis.emptied'
      log.error({ code }, describeData(watch.trouble))
    }
    await tell(parts(), 'firing', describeData(watch.trouble))
  }
  const end = atInterval(look, LOOK_EVERY_MS)
  return watch
}

/** 0 where the server does not let itself be asked. */
async function evictedKeys({ store }: Parts): Promise<number> {
  const servers = await readServers(store).catch(() => [])
  return servers.reduce((sum, { evictedKeys }) => sum + evictedKeys, 0)
}

/** In an emptied Redis an alert can be sent like any other: all that it takes is in the config. */
async function tell({ store, keys, config, clock, queues }: Parts, is: 'firing' | 'over', message: string) {
  const stored = (await store.hget(keys.account(NOBODY).alerts, DATA)) ?? ''
  const now = clock.now()
  const writes = fleetAnnouncements(config)(DATA, is, stored, message, now)
  if (writes.entries.length === 0) return
  await store.changeAlerts(...accountStepKeys(keys, NOBODY), NOBODY, stepJson(writes))
  await queues.wake('alerts', now)
}

async function warnOfPerils({ store, log }: Parts): Promise<void> {
  const servers = await readServers(store).catch(() => [])
  for (const server of servers) {
    for (const { name, detail, fix } of perilsOf(server)) {
      log.warn({ code: 'redis.unsafe', server: server.address, setting: name }, `${detail}; ${fix}`)
    }
  }
}
