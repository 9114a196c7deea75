import type { Uninstall } from '../accounts/account.ts'
import { cleanText } from '../text/clean-text.ts'
import { countOf } from '../text/format-number.ts'
import { formatMoment, formatTime, iso } from '../text/format-time.ts'
import { ENDING } from '../views/account-story.ts'
import { withPlan } from '../views/account-view.ts'
import { type PlannedAccount, STATE_NAMES } from '../views/judge-account.ts'
import { UninstallShape } from '../views/shapes/account.ts'
import type { ActingDeps } from './deps.ts'
import { accountField, flagField, required, textField } from './field.ts'
import { type Onlooker, operation } from './operation.ts'
import { noAccount, Refusal } from './refusal.ts'

export const accountUninstall = operation({
  id: 'uninstallAccount',
  route: 'POST /accounts/{hubId}/uninstall',
  also: [{ id: 'deleteAccount', route: 'DELETE /accounts/{hubId}', is: 'uninstall an account, by another method' }],
  args: '<account>',
  is: "delete the account's refresh token at the provider; later the account is forgotten",
  description: 'At once nothing works for the account any more; a job deletes its refresh token.',
  takes: {
    hubId: required(accountField('the account')),
    reason: textField('why: it is kept in the log and with the account'),
    wait: flagField('wait up to a minute until the refresh token is deleted', { only: 'command' }),
  },
  gives: UninstallShape,
  problems: [404],
  example: { params: { hubId: '7654321' }, body: { reason: 'left us' } },
  examples: ['1234567'],
  asks: async ({ registry }, { hubId }) => {
    const { hubDomain = '' } = (await registry.get(hubId)) ?? {}
    return {
      question: `Account ${hubId}${hubDomain === '' ? '' : ` (${hubDomain})`} is uninstalled: its refresh token is deleted at the provider, and only the customer can connect it again.`,
      answer: hubDomain === '' ? String(hubId) : hubDomain,
    }
  },
  stops: 'by itself',
  busy: ({ wait }) => (wait ? 'seconds waited for the provider' : undefined),
  does: async (deps, { given: { hubId, reason, wait }, who, onlooker }): Promise<UninstallShape> => {
    const begun = await deps.actions.uninstall(hubId, reason || 'no reason given', who)
    if (begun === 'unknown') throw noAccount(hubId)
    if (wait && onlooker !== undefined) return departed(hubId, await awaitDeparture(deps, hubId, onlooker))
    if (begun === 'begun') return { hubId, state: 'uninstalling', outcome: 'begun' }
    return { hubId, state: (await deps.registry.get(hubId))?.state ?? 'uninstalled', outcome: 'already' }
  },
  statuses: {
    says: { 200: 'It was asked for before.', 202: 'It is begun.' },
    of: ({ outcome }) => ({ status: outcome === 'begun' ? 202 : 200 }),
  },
  show: ({ hubId, outcome, deletedAt, purgeAt }) => {
    if (outcome === 'begun')
      return [`account ${hubId} is being uninstalled: the daemon deletes its refresh token at the provider`]
    if (outcome === 'already') return [`account ${hubId} was uninstalled already`]
    if (outcome === 'forgotten') return [`account ${hubId} is forgotten: its refresh token is deleted`]
    return [
      `the refresh token of account ${hubId} was deleted ${formatTime(deletedAt ?? '')}: ${ENDING[outcome]}`,
      `its record and readings are forgotten ${formatTime(purgeAt ?? '')}`,
    ]
  },
})

/** The outcome of an uninstall: `proof` is absent where Redis keeps nothing of the account. */
type Departure = { is: 'gone'; proof?: Uninstall } | { is: 'held'; by: string }

const WAIT_MS = 60_000
const LOOK_AGAIN_MS = 250

/** Waits up to a minute until the account's refresh token is deleted. */
export async function awaitDeparture(
  deps: Pick<ActingDeps, 'registry' | 'due' | 'clock'>,
  hubId: number,
  { stop, at }: Onlooker,
): Promise<Departure> {
  const begun = deps.clock.now()
  const end = begun + WAIT_MS
  for (;;) {
    at(Math.floor((deps.clock.now() - begun) / 1_000), WAIT_MS / 1_000)
    const account = await deps.registry.get(hubId)
    if (account === undefined) return { is: 'gone' }
    if (account.state === 'uninstalled' && account.uninstall !== null) return { is: 'gone', proof: account.uninstall }
    if (account.state !== 'uninstalling')
      return { is: 'held', by: `the account was connected again: it is ${STATE_NAMES[account.state]}` }
    if (deps.clock.now() >= end || stop.aborted) return { is: 'held', by: holdUp(await withPlan(deps.due, account)) }
    await deps.clock.wait(LOOK_AGAIN_MS, stop)
  }
}

function holdUp({ uninstall, nextUninstallAt }: PlannedAccount): string {
  if (uninstall === null || uninstall.failure === null)
    return 'no daemon has tried yet, or a refresh of the account still runs: check with plimsoll status that a daemon runs'
  const next = nextUninstallAt === null ? '' : `, the next ${formatMoment(nextUninstallAt)}`
  return `${cleanText(uninstall.failure, 300)} (${countOf(uninstall.attempts, 'failed attempt')}${next})`
}

function departed(hubId: number, departure: Departure): UninstallShape {
  if (departure.is === 'held')
    throw new Refusal('unavailable', `the refresh token of account ${hubId} is not deleted yet: ${departure.by}`)
  const { ending, at, purgeAt } = departure.proof ?? { ending: null, at: null, purgeAt: null }
  const times = { deletedAt: iso(at), purgeAt: iso(purgeAt) }
  return { hubId, state: 'uninstalled', outcome: ending ?? 'forgotten', ...times }
}
