import { openAccountJobs } from '../app/account-jobs.ts'
import type { Parts } from '../app/parts.ts'
import { countOf } from '../text/format-number.ts'
import { formatMoment, iso } from '../text/format-time.ts'
import type { RefreshOutcome } from '../tokens/refresh-account.ts'
import { CommandError, type Io, printJson } from './io.ts'
import type { CommonOptions } from './options.ts'
import { showProgress } from './progress.ts'
import { say } from './say.ts'
import { named, printTable, spare, state, timeCell, whole } from './table.ts'
import { withParts } from './with-parts.ts'

/** `plimsoll accounts poll HUB_ID...`: what came of each, in the order given. */
export async function poll(io: Io, hubIds: readonly number[], options: CommonOptions): Promise<void> {
  const polled = await withParts(io, options.config, (parts) => pollAll(io, parts, [...new Set(hubIds)]), {
    stops: 'by itself',
  })
  if (options.json === true) printJson(io, polled)
  else {
    printTable(
      io,
      [whole('HUB ID'), named('DOMAIN'), state('OUTCOME'), spare(whole('LAST READ')), 'WHY'],
      polled.map(({ hubId, hubDomain, outcome, polledAt, reason }) => [
        ...[String(hubId), hubDomain, outcome, timeCell(polledAt), reason ?? ''],
      ]),
    )
  }
  const failed = polled.filter(({ outcome }) => outcome === 'failed').length
  if (failed === 0) return
  throw new CommandError(`${failed} of ${countOf(polled.length, 'account')} could not be read, or not all of it`)
}

async function pollAll(io: Io, parts: Parts, hubIds: readonly number[]) {
  const jobs = openAccountJobs(parts, io.stop)
  const progress = showProgress(io, 'accounts polled', hubIds.length)
  let done = 0
  const pollOne = async (hubId: number) => {
    const reason = await jobs.poll(hubId)
    progress.at(++done, hubIds.length)
    const account = await parts.registry.get(hubId)
    return {
      hubId,
      hubDomain: account?.hubDomain ?? '',
      outcome: reason === undefined ? 'read' : 'failed',
      reason: reason ?? null,
      polledAt: iso(account?.polledAt ?? null),
    }
  }
  return Promise.all(hubIds.map(pollOne)).finally(progress.end)
}

/** `plimsoll accounts refresh HUB_ID`: at once, unless the account's next attempt is planned after one that failed. */
export async function refresh(io: Io, hubId: number, options: CommonOptions): Promise<void> {
  const { account, outcome, isNew } = await withParts(
    io,
    options.config,
    async (parts) => {
      const before = await parts.registry.get(hubId)
      if (before === undefined) throw new CommandError(`there is no account ${hubId}: plimsoll accounts list shows all`)
      const progress = showProgress(io, `refreshing account ${hubId}`)
      const is = await openAccountJobs(parts, io.stop).refresh(hubId, before.token.generation).finally(progress.end)
      const after = await parts.registry.get(hubId)
      return { outcome: is, account: after, isNew: after?.token.generation !== before.token.generation }
    },
    { stops: 'by itself' },
  )
  const problem = isNew ? undefined : whyNotRefreshed(outcome)
  if (problem !== undefined) throw new CommandError(`account ${hubId} was not refreshed: ${problem}`)
  const expiresAt = iso(account?.token.expiresAt ?? null)
  if (options.json === true) return printJson(io, { hubId, outcome: 'refreshed', expiresAt })
  say(io, `refreshed account ${hubId}: its access token is valid until ${timeCell(expiresAt)}`)
}

function whyNotRefreshed(outcome: RefreshOutcome): string | undefined {
  switch (outcome.is) {
    case 'refreshed':
    case 'lost': // Somebody else has just done it.
      return undefined
    case 'fresh':
      return 'its last refresh failed, and the next one is planned: plimsoll accounts show says when'
    case 'held':
      return 'somebody else is at it just now: try again in a moment'
    case 'gone':
      return 'it is uninstalled, or about to be'
    case 'waiting':
      return `the token endpoint is closed until ${formatMoment(outcome.until)}: plimsoll status says why`
    case 'failed':
      return outcome.failure.message
  }
}
