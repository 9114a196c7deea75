import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Uninstall } from '../accounts/account.ts'
import type { DueSets } from '../accounts/due-sets.ts'
import type { Registry } from '../accounts/registry.ts'
import { connectByToken, makeReconnectLink, setContact, startUninstall } from '../app/account-actions.ts'
import { accountJobsUntil, pollNow } from '../app/account-jobs.ts'
import type { Services } from '../app/services.ts'
import type { Clock } from '../runtime/clock.ts'
import { replaceSecretFile } from '../runtime/data-folder.ts'
import { Secret } from '../runtime/secret.ts'
import { ageCell } from '../text/cells.ts'
import { cleanText } from '../text/clean-text.ts'
import { prose, spare, state, whole } from '../text/columns.ts'
import { countOf } from '../text/format-number.ts'
import { formatMoment, iso } from '../text/format-time.ts'
import { polledJson } from '../views/account-now-json.ts'
import { ENDING } from '../views/account-story.ts'
import { STATE_NAMES } from '../views/account-verdict.ts'
import { type PlannedAccount, withPlan } from '../views/account-view.ts'
import type { PolledShape } from '../views/shapes/account.ts'
import type { AccountArgument, CommonOptions } from './arguments.ts'
import { CommandError, type Io, printJson, unreadable } from './io.ts'
import { showProgress } from './progress.ts'
import { say } from './say.ts'
import { printTable } from './table.ts'
import { whoRuns } from './who-runs.ts'
import { hubIdNamed, hubIdsNamed, noSuchAccount, withParts, withStore } from './with-parts.ts'

/** `plimsoll accounts connect`. */
export async function connect(io: Io, options: CommonOptions & { refreshTokenFile: string }): Promise<void> {
  const file = resolve(io.cwd, options.refreshTokenFile)
  const needs = { ...options, withoutData: 'begins', writesAs: 'accounts connect', stops: 'by itself' } as const
  const outcome = await withParts(io, needs, async (parts) => {
    const token = readToken(file, options.refreshTokenFile)
    const keep = (latest: Secret) => replaceSecretFile(file, `${latest.reveal()}\n`)
    return connectByToken(parts, token, keep, whoRuns(io))
  })
  if (outcome.is === 'failed') {
    const { step, failure } = outcome
    if (step === 'token') throw new CommandError(`the provider did not take the refresh token: ${failure.message}`)
    const unknown = {
      metadata: 'whose token it is',
      proof: 'whether it or the one that was connected meanwhile counts',
    }
    throw new CommandError(
      `${unknown[step]} could not be read: ${failure.message}; nothing was stored, ${options.refreshTokenFile} holds the latest token, try again`,
    )
  }
  const { hubId, hubDomain, scopes, is } = outcome
  if (options.json === true)
    return printJson(io, 'accounts connect', { hubId, hubDomain, state: 'active', scopes, outcome: is })
  say(io, `${is} account ${hubId} ${cleanText(hubDomain)}`)
}

function readToken(file: string, name: string): Secret {
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw unreadable(name, error)
  }
  if (text === '' || /\s/.test(text)) throw new CommandError(`${name} must hold one refresh token and nothing else`)
  return new Secret(text)
}

/** `plimsoll accounts reconnect-link`. */
export async function printReconnectLink(io: Io, name: AccountArgument, options: CommonOptions): Promise<void> {
  const { hubId, url, expiresAt } = await withStore(io, options, async (parts) => {
    const hubId = await hubIdNamed(parts, name)
    if ((await parts.registry.get(hubId)) === undefined) throw noSuchAccount(hubId)
    const { noted, ...link } = makeReconnectLink(parts, hubId, whoRuns(io))
    await noted
    return { hubId, ...link }
  })
  const until = new Date(expiresAt).toISOString()
  if (options.json === true) return printJson(io, 'accounts reconnect-link', { hubId, url, expiresAt: until })
  io.out(`${url}\n`)
  if (io.isTerminal) say(io, `It connects account ${hubId} and no other, until ${formatMoment(expiresAt)}.`)
}

/** `plimsoll accounts contact ACCOUNT [ADDRESS]`. */
export async function contact(
  io: Io,
  name: AccountArgument,
  address: string | undefined,
  options: CommonOptions & { remove?: boolean },
  command: Command,
): Promise<void> {
  const isRemoved = options.remove === true
  if (isRemoved && address !== undefined) command.error('error: --remove takes no address')
  const found = await withStore(io, options, async (parts) => {
    const hubId = await hubIdNamed(parts, name)
    if (isRemoved || address !== undefined) await setContact(parts, hubId, address ?? null, whoRuns(io))
    const account = await parts.registry.get(hubId)
    if (account === undefined) throw noSuchAccount(hubId)
    return { hubId, contact: account.contact }
  })
  if (options.json === true) return printJson(io, 'accounts contact', found)
  say(io, found.contact ?? `account ${found.hubId} has no contact of its own`)
}

/** `plimsoll accounts poll ACCOUNT...`: what came of each, in the order given. */
export async function poll(io: Io, names: readonly AccountArgument[], options: CommonOptions): Promise<void> {
  const needs = { ...options, writesAs: 'accounts poll', stops: 'by itself' } as const
  const polled = await withParts(io, needs, async (parts) => pollAll(io, parts, await hubIdsNamed(parts, names)))
  if (options.json === true) printJson(io, 'accounts poll', polled)
  else {
    printTable(
      io,
      [whole('HUB ID'), 'DOMAIN', state('OUTCOME'), spare(whole('READ')), prose('WHY')],
      polled.map(({ hubId, hubDomain, outcome, polledAt, reason }) => [
        ...[String(hubId), hubDomain, outcome, ageCell(polledAt, io.clock.now()), reason ?? ''],
      ]),
    )
  }
  const failed = polled.filter(({ outcome }) => outcome === 'failed').length
  if (failed === 0) return
  throw new CommandError(`${failed} of ${countOf(polled.length, 'account')} could not be read, or not all of it`)
}

async function pollAll(io: Io, parts: Services, hubIds: readonly number[]): Promise<PolledShape[]> {
  const jobs = accountJobsUntil(parts, io.stop)
  const who = whoRuns(io)
  const progress = showProgress(io, 'accounts polled', hubIds.length)
  let done = 0
  const pollOne = async (hubId: number) => {
    const { account, reason } = await pollNow(jobs, parts, hubId, who)
    progress.at(++done, hubIds.length)
    return polledJson(hubId, account, reason)
  }
  return Promise.all(hubIds.map(pollOne)).finally(progress.end)
}

interface RemoveOptions extends CommonOptions {
  reason: string
  wait?: boolean
}

/** `plimsoll accounts uninstall`. */
export async function leaveAccount(io: Io, name: AccountArgument, options: RemoveOptions): Promise<void> {
  const { hubId, begun, departure } = await withParts(io, { ...options, stops: 'by itself' }, async (parts) => {
    const hubId = await hubIdNamed(parts, name)
    const asked = await startUninstall(parts, hubId, options.reason, whoRuns(io))
    if (options.wait !== true || asked === 'unknown') return { hubId, begun: asked, departure: undefined }
    const progress = showProgress(io, 'seconds waited for the provider')
    const departed = await awaitDeparture(parts, hubId, io.stop, progress.at).finally(progress.end)
    return { hubId, begun: asked, departure: departed }
  })
  if (begun === 'unknown') throw noSuchAccount(hubId)
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

function printDeparture(io: Io, hubId: number, departure: Departure, asJson: boolean): void {
  if (departure.is === 'held') {
    throw new CommandError(`the refresh token of account ${hubId} is not deleted yet: ${departure.by}`)
  }
  const { ending, at, purgeAt } = departure.proof ?? { ending: null, at: null, purgeAt: null }
  const json = { hubId, outcome: ending ?? 'forgotten', deletedAt: iso(at), purgeAt: iso(purgeAt) } as const
  if (asJson) printJson(io, 'accounts uninstall', json)
  else if (ending === null) say(io, `account ${hubId} is forgotten: its refresh token is deleted`)
  else {
    say(io, `the refresh token of account ${hubId} was deleted ${formatMoment(at)}: ${ENDING[ending]}`)
    say(io, `its record and readings are forgotten ${formatMoment(purgeAt)}`)
  }
}
