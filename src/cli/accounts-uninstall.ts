import type { Uninstall } from '../accounts/account.ts'
import type { DueSets } from '../accounts/due-sets.ts'
import type { Registry } from '../accounts/registry.ts'
import { uninstall } from '../app/account-actions.ts'
import type { Clock } from '../runtime/clock.ts'
import { cleanText } from '../text/clean-text.ts'
import { countOf } from '../text/format-number.ts'
import { formatMoment, iso } from '../text/format-time.ts'
import { ENDING } from '../views/account-story.ts'
import { type PlannedAccount, withPlan } from '../views/account-view.ts'
import type { AccountName, CommonOptions } from './arguments.ts'
import { CommandError, type Io, printJson } from './io.ts'
import { hubIdOf, unknownAccount } from './named-account.ts'
import { showProgress } from './progress.ts'
import { say } from './say.ts'
import { withParts } from './with-parts.ts'

interface RemoveOptions {
  reason: string
  wait?: boolean
}

/** `plimsoll accounts uninstall`. */
export async function uninstallAccount(
  io: Io,
  name: AccountName,
  options: CommonOptions & RemoveOptions,
): Promise<void> {
  const { hubId, begun, departure } = await withParts(
    io,
    options.config,
    async (parts) => {
      const hubId = await hubIdOf(parts, name)
      const asked = await uninstall(parts, hubId, { by: 'cli', reason: options.reason })
      const waits = options.wait === true && asked !== 'unknown'
      if (!waits) return { hubId, begun: asked, departure: undefined }
      const progress = showProgress(io, 'seconds waited for the provider')
      const departed = await awaitDeparture(parts, hubId, io.stop, progress.at).finally(progress.end)
      return { hubId, begun: asked, departure: departed }
    },
    { stops: 'by itself' },
  )
  if (begun === 'unknown') throw unknownAccount(hubId)
  if (departure !== undefined) return printDeparture(io, hubId, departure, options.json === true)
  if (options.json === true)
    return printJson(io, 'accounts uninstall', { hubId, outcome: begun === 'begun' ? 'begun' : 'already' })
  say(
    io,
    begun === 'begun'
      ? `account ${hubId} is being uninstalled: the daemon deletes its refresh token at the provider`
      : `account ${hubId} was uninstalled already`,
  )
}

/** What became of an uninstall: `proof` is absent where nothing of the account is kept. */
type Departure = { is: 'gone'; proof?: Uninstall } | { is: 'held'; by: string }

const WAIT_MS = 60_000
const LOOK_AGAIN_MS = 250

/** Waits up to a minute until the account's refresh token is deleted. */
export async function awaitDeparture(
  deps: { registry: Registry; due: DueSets; clock: Clock },
  hubId: number,
  stop: AbortSignal,
  waited: (seconds: number, most: number) => void = () => {},
): Promise<Departure> {
  const begun = deps.clock.now()
  const end = begun + WAIT_MS
  for (;;) {
    waited(Math.floor((deps.clock.now() - begun) / 1_000), WAIT_MS / 1_000)
    const account = await deps.registry.get(hubId)
    if (account === undefined) return { is: 'gone' }
    if (account.state === 'uninstalled' && account.uninstall !== null) return { is: 'gone', proof: account.uninstall }
    if (account.state !== 'uninstalling')
      return { is: 'held', by: `the account was connected again: it is ${account.state}` }
    if (deps.clock.now() >= end || stop.aborted) return { is: 'held', by: holdUp(await withPlan(deps.due, account)) }
    await deps.clock.wait(LOOK_AGAIN_MS, stop)
  }
}

function holdUp({ uninstall, nextUninstallAt }: PlannedAccount): string {
  if (uninstall === null || uninstall.failure === null)
    return 'no daemon has tried yet, or a refresh of it is still under way: check that one runs, with plimsoll status'
  const next = nextUninstallAt === null ? '' : `, the next ${formatMoment(nextUninstallAt)}`
  return `${cleanText(uninstall.failure, 300)} (${countOf(uninstall.attempts, 'failed attempt')}${next})`
}

function printDeparture(io: Io, hubId: number, departure: Departure, asJson: boolean): void {
  if (departure.is === 'held') {
    throw new CommandError(`the refresh token of account ${hubId} is not deleted yet: ${departure.by}`)
  }
  const { ending, at, purgeAt } = departure.proof ?? { ending: null, at: null, purgeAt: null }
  if (asJson)
    printJson(io, 'accounts uninstall', {
      hubId,
      outcome: ending ?? 'forgotten',
      deletedAt: iso(at),
      purgeAt: iso(purgeAt),
    })
  else if (ending === null) say(io, `account ${hubId} is forgotten: its refresh token is deleted`)
  else {
    say(io, `the refresh token of account ${hubId} was deleted ${formatMoment(at)}: ${ENDING[ending]}`)
    say(io, `its record and readings are forgotten ${formatMoment(purgeAt)}`)
  }
}
