import type { Uninstall } from '../accounts/account.ts'
import { cleanText } from '../text/clean-text.ts'
import { countOf } from '../text/format-number.ts'
import { formatMoment, iso } from '../text/format-time.ts'
import { withPlan } from '../views/account-view.ts'
import type { PlannedAccount } from '../views/judge-account.ts'
import { STATE_NAMES } from '../views/judge-account.ts'
import type { UninstallShape } from '../views/shapes/account.ts'
import type { OperationDeps } from './deps.ts'
import type { Onlooker } from './operation.ts'
import { Refusal } from './refusal.ts'

/** The outcome of an uninstall: `proof` is absent where Redis keeps nothing of the account. */
type Departure = { is: 'gone'; proof?: Uninstall } | { is: 'held'; by: string }

const WAIT_MS = 60_000
const LOOK_AGAIN_MS = 250

/** Waits up to a minute until the account's refresh token is deleted. */
export async function awaitDeparture(
  deps: Pick<OperationDeps, 'registry' | 'due' | 'clock'>,
  hubId: number,
  stop: AbortSignal,
  progress: Onlooker['progress'] = () => {},
): Promise<Departure> {
  const passed = deps.clock.stopwatch()
  for (;;) {
    progress(Math.floor(passed() / 1_000), WAIT_MS / 1_000)
    const account = await deps.registry.get(hubId)
    if (account === undefined) return { is: 'gone' }
    if (account.state === 'uninstalled' && account.uninstall !== null) return { is: 'gone', proof: account.uninstall }
    if (account.state !== 'uninstalling')
      return { is: 'held', by: `the account was connected again: it is ${STATE_NAMES[account.state]}` }
    if (passed() >= WAIT_MS || stop.aborted) return { is: 'held', by: holdUp(await withPlan(deps.due, account)) }
    await deps.clock.wait(LOOK_AGAIN_MS, stop)
  }
}

function holdUp({ uninstall, nextUninstallAt }: PlannedAccount): string {
  if (uninstall === null || uninstall.failure === null)
    return 'no daemon has tried yet, or a refresh of the account still runs: check with plimsoll status that a daemon runs'
  const next = nextUninstallAt === null ? '' : `, the next ${formatMoment(nextUninstallAt)}`
  return `${cleanText(uninstall.failure, 300)} (${countOf(uninstall.attempts, 'failed attempt')}${next})`
}

export function departed(hubId: number, departure: Departure): UninstallShape {
  if (departure.is === 'held')
    throw new Refusal('unavailable', `the refresh token of account ${hubId} is not deleted yet: ${departure.by}`)
  const { ending, at, purgeAt } = departure.proof ?? { ending: null, at: null, purgeAt: null }
  const times = { deletedAt: iso(at), purgeAt: iso(purgeAt) }
  return { hubId, state: 'uninstalled', outcome: ending ?? 'forgotten', ...times }
}
