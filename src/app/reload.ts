import { changedPaths, takeOver } from '../../config/schema/reload.ts'
import type { Config } from '../../config/schema/schema.ts'
import { recheckWaiting } from '../alerts/sending/read-due.ts'
import { planSooner } from '../limits/polling/plan-poll.ts'
import { pollSettingsOf } from '../limits/polling/poll-settings.ts'
import { InFlight, type InForce } from '../runtime/concurrency.ts'
import { createVault } from '../tokens/vault.ts'
import { checkKeys } from '../tokens/vault-keys.ts'
import { encryptionKeys } from './data-folder.ts'
import type { ProcessReports } from './process-reports.ts'
import { buildServices, type Services } from './services.ts'

/** Parts that go on by themselves, and take other services. */
export interface Followers {
  /** In this very moment. */
  now: readonly { follow(services: Services): void }[]
  /** Prepares the new services, which may fail; the function that it resolves with puts them in force. */
  http: { prepare(services: Services): Promise<() => Promise<void>> }
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
  followers: Followers,
  reports: ProcessReports,
  next: Config,
): Promise<Reloaded> {
  const before = inForce.value
  const config = takeOver(before.config, next)
  const { keys } = encryptionKeys(config)
  await checkKeys(before.store, before.keys, createVault(keys))
  const services = buildServices(before, config)
  const answerBy = await followers.http.prepare(services).catch(async (error: unknown) => {
    await services.close()
    throw error
  })

  // All that can fail is done: from here to the next wait everything changes at once.
  services.follow(config, keys)
  void inForce
    .replace(services)
    .then(() => before.close())
    .catch(() => undefined) // A connection that can't be ended is no reason to end the daemon.
  for (const one of followers.now) one.follow(services)
  await answerBy()

  const applied = changedPaths(before.config, config)
  await checkAfterReload(services, reports, applied)
  return { applied, restart: changedPaths(config, next) }
}

/**
 * Alerts and polls that wait by the old config are judged again by the new one. All of it is in force by now, even
 * without Redis.
 */
async function checkAfterReload(
  services: Services,
  reports: ProcessReports,
  applied: readonly string[],
): Promise<void> {
  const { log, clock, deliveries, receivers } = services
  const now = clock.now()
  const others = receiversIn(applied).flatMap((name) => receivers.get(name) ?? [])
  await reports.report().catch((error: unknown) => {
    const message = 'could not report to other daemons which config and which key are in force here: tried again soon'
    log.warn({ code: 'vault.unreported', err: error }, message)
  })
  await Promise.all([recheckWaiting(services), deliveries.enable(others, now)]).catch((error: unknown) => {
    const message = 'alerts that were held back wait for their own time: Redis did not answer'
    log.warn({ code: 'redis.error', err: error }, message)
  })
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
      'polls of accounts with a shorter period could not be rescheduled: their times are unchanged',
    )
  })
}

type ReplanWork = Pick<Services, 'due' | 'polls' | 'polling' | 'clock' | 'log'>

/** Accounts that are planned together: they share the connection with work that does not wait. */
const AT_ONCE = 50

/**
 * At the start and after a reload: a period that was made shorter in the config holds from now on, not from the turn on that the longer one had
 * planned, which may be days away.
 */
export async function replanPolls(deps: ReplanWork): Promise<void> {
  const { due, polling, clock, log } = deps
  const shortest = Math.min(polling.every, ...polling.accounts.map(({ every }) => every ?? polling.every))
  const places = new InFlight(AT_ONCE)
  let accounts = 0
  for await (const hubIds of due.laterThan('poll', clock.now() + shortest)) {
    const moved = await Promise.all(hubIds.map((hubId) => places.run('normal', () => replanPoll(deps, hubId))))
    accounts += moved.filter((isMoved) => isMoved).length
  }
  if (accounts > 0)
    log.info(
      { code: 'poll.replanned', accounts },
      'the period of these accounts is shorter now: they are polled sooner',
    )
}

async function replanPoll({ due, polls, polling, clock }: ReplanWork, hubId: number): Promise<boolean> {
  const next = await polls.planned(hubId)
  // One that is parked waits for as long as the provider asked; a moment that is no whole number is a claim: it is polled now.
  if (next === undefined || next.accountState === 'parked' || !Number.isInteger(next.at)) return false
  const { everyMs } = pollSettingsOf(polling, { hubId, hubDomain: next.hubDomain })
  const at = planSooner(hubId, everyMs, { at: next.at, turn: next.state.turn }, clock.now())
  if (at !== undefined) await due.move('poll', { hubId, claim: next.at }, at)
  return at !== undefined
}
