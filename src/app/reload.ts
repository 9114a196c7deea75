import { changedPaths, takeOver } from '../../config/in-force.ts'
import type { Config } from '../../config/schema.ts'
import type { TickingClock as Ticks } from '../../jobs/clock.ts'
import { replanPolls } from '../../jobs/replan-polls.ts'
import type { Workers } from '../../jobs/workers.ts'
import { lookAgain } from '../alerts/groups/held.ts'
import { checkKeys } from '../tokens/canary.ts'
import { createVault } from '../tokens/vault.ts'
import type { WriterReports } from '../tokens/writers.ts'
import { encryptionKeys } from './encryption-keys.ts'
import { type Parts, withConfig } from './parts.ts'
import { openWork, type Work } from './work.ts'
import type { Services } from './worker-deps.ts'

/** What of the daemon another config replaces; readers see what is in force. */
export interface Running {
  parts: Parts
  work: Work
  readonly services: Services
}

/** The parts that go on, and take another config. */
export interface ReloadListeners {
  workers: Workers
  ticks: Ticks
  reports: WriterReports
}

export interface Reloaded {
  /** Paths of the settings that are others now. */
  applied: string[]
  /** Paths of those that a restart is needed for. */
  restart: string[]
}

/**
 * Takes another config over while everything runs: all that can be, or nothing. Throws KeysError when its keys are not those
 * that stored tokens need. Jobs that have begun end by the config before.
 */
export async function reload(running: Running, told: ReloadListeners, next: Config): Promise<Reloaded> {
  const before = running.parts.config
  const config = takeOver(before, next)
  const { keys } = encryptionKeys(config)
  await checkKeys(running.parts.store, running.parts.keys, createVault(keys))
  const parts = withConfig(running.parts, config)
  const work = openWork(parts, running.services)

  // All that can fail is done: from here to the next wait everything changes at once.
  parts.vault.replace(keys)
  parts.provider.replaceApp(config.provider)
  parts.log.level = config.log.level
  const { work: retired } = running
  void told.workers
    .replace(work)
    .then(() => retired.close())
    .catch(() => undefined) // A connection that can't be ended is no reason to end the daemon.
  Object.assign(running, { parts, work })

  const applied = changedPaths(before, config)
  told.ticks.follow(config.schedule)
  await lookAround(running, told, applied)
  return { applied, restart: changedPaths(config, next) }
}

/** What waits by the old config is judged again by the new one. All of it is in force by now, even without Redis. */
async function lookAround(
  { parts, work, services }: Running,
  { reports }: ReloadListeners,
  applied: readonly string[],
): Promise<void> {
  const { log, clock } = parts
  services.endpoint.probe()
  await reports.report().catch((error: unknown) => {
    log.warn({ code: 'vault.unreported', err: error }, 'could not report which key encrypts here: tried again soon')
  })
  await Promise.all([lookAgain(parts, clock.now()), parts.deliveries.enable(receiversIn(applied))]).catch(
    (error: unknown) => {
      log.warn(
        { code: 'redis.error', err: error },
        'alerts that were held back wait for their own time: Redis did not answer',
      )
    },
  )
  if (applied.some((path) => path.startsWith('limits.'))) replanInBackground(work)
}

/** Receivers that are others now: one that was switched off gets another chance. */
function receiversIn(paths: readonly string[]): string[] {
  return [...new Set(paths.flatMap((path) => /^receivers\.([\w-]+)/.exec(path)?.[1] ?? []))]
}

/** In the background: with many accounts it takes minutes. */
export function replanInBackground(work: Work): void {
  void replanPolls(work).catch((error: unknown) => {
    work.log.warn(
      { code: 'poll.error', err: error },
      'accounts with a shorter period could not be planned anew: their turns are unchanged',
    )
  })
}
