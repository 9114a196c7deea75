import { changedPaths, takeOver } from '../../config/in-force.ts'
import type { Config } from '../../config/schema.ts'
import { replanPolls } from '../../jobs/replan-polls.ts'
import { lookAgain } from '../alerts/groups/held.ts'
import type { InForce } from '../runtime/concurrency.ts'
import { createVault } from '../tokens/vault.ts'
import { checkKeys, type WriterReports } from '../tokens/vault-keys.ts'
import { encryptionKeys } from './data-folder.ts'
import { buildServices, type Services } from './services.ts'

/** What goes on by itself, and takes other services. */
export interface Followers {
  follow(services: Services): void | Promise<void>
}

export interface Reloaded {
  /** Paths of the settings that are others now. */
  applied: string[]
  /** Paths of those that a restart is needed for. */
  restart: string[]
}

/**
 * Takes another config over while everything runs: all that can be, or nothing. Throws KeysError when its keys are not those
 * that stored tokens need. Jobs that have begun end by the services before, which are closed then.
 */
export async function reload(
  inForce: InForce<Services>,
  followers: readonly Followers[],
  reports: WriterReports,
  next: Config,
): Promise<Reloaded> {
  const before = inForce.value
  const config = takeOver(before.config, next)
  const { keys } = encryptionKeys(config)
  await checkKeys(before.store, before.keys, createVault(keys))
  const services = buildServices(before, config)

  // All that can fail is done: from here to the next wait everything changes at once.
  services.follow(config, keys)
  void inForce
    .replace(services)
    .then(() => before.close())
    .catch(() => undefined) // A connection that can't be ended is no reason to end the daemon.
  const followed = followers.map((one) => one.follow(services))

  const applied = changedPaths(before.config, config)
  await Promise.all(followed)
  await lookAround(services, reports, applied)
  return { applied, restart: changedPaths(config, next) }
}

/** What waits by the old config is judged again by the new one. All of it is in force by now, even without Redis. */
async function lookAround(services: Services, reports: WriterReports, applied: readonly string[]): Promise<void> {
  const { log, clock, endpoint, deliveries } = services
  endpoint.probe()
  await reports.report().catch((error: unknown) => {
    log.warn({ code: 'vault.unreported', err: error }, 'could not report which key encrypts here: tried again soon')
  })
  await Promise.all([lookAgain(services, clock.now()), deliveries.enable(receiversIn(applied))]).catch(
    (error: unknown) => {
      log.warn(
        { code: 'redis.error', err: error },
        'alerts that were held back wait for their own time: Redis did not answer',
      )
    },
  )
  if (applied.some((path) => path.startsWith('limits.'))) replanInBackground(services)
}

/** Receivers that are others now: one that was switched off gets another chance. */
function receiversIn(paths: readonly string[]): string[] {
  return [...new Set(paths.flatMap((path) => /^receivers\.([\w-]+)/.exec(path)?.[1] ?? []))]
}

/** In the background: with many accounts it takes minutes. */
export function replanInBackground(services: Services): void {
  void replanPolls(services).catch((error: unknown) => {
    services.log.warn(
      { code: 'poll.error', err: error },
      'accounts with a shorter period could not be planned anew: their turns are unchanged',
    )
  })
}
