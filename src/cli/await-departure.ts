import type { Uninstall } from '../accounts/account.ts'
import type { DueSets } from '../accounts/due-sets.ts'
import type { Registry } from '../accounts/registry.ts'
import type { Clock } from '../runtime/clock.ts'
import { cleanText } from '../text/clean-text.ts'
import { countOf } from '../text/format-number.ts'
import { formatMoment, iso } from '../text/format-time.ts'
import { ENDING } from '../views/account-story.ts'
import { type PlannedAccount, withPlan } from '../views/account-view.ts'
import { CommandError, type Io, printJson } from './io.ts'
import { say } from './say.ts'

/** What became of an uninstall: `proof` is absent where nothing of the account is kept. */
export type Departure = { is: 'gone'; proof?: Uninstall } | { is: 'held'; by: string }

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

export function printDeparture(io: Io, hubId: number, departure: Departure, asJson: boolean): void {
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
