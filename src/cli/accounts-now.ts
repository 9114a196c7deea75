import { openAccountJobs } from '../app/account-jobs.ts'
import { pollNow, refreshNow } from '../app/account-now.ts'
import type { Parts } from '../app/parts.ts'
import { countOf } from '../text/format-number.ts'
import { polledJson, refreshedJson } from '../views/account-now-json.ts'
import type { PolledShape } from '../views/shapes/account.ts'
import type { AccountName, CommonOptions } from './arguments.ts'
import { CommandError, type Io, printJson } from './io.ts'
import { hubIdOf, hubIdsOf, unknownAccount } from './named-account.ts'
import { showProgress } from './progress.ts'
import { say } from './say.ts'
import { named, printTable, prose, spare, state, timeCell, whole } from './table.ts'
import { withParts } from './with-parts.ts'

/** `plimsoll accounts poll ACCOUNT...`: what came of each, in the order given. */
export async function poll(io: Io, names: readonly AccountName[], options: CommonOptions): Promise<void> {
  const polled = await withParts(
    io,
    options.config,
    async (parts) => pollAll(io, parts, await hubIdsOf(parts, names)),
    {
      ...{ writesAs: 'accounts poll', stops: 'by itself' },
    },
  )
  if (options.json === true) printJson(io, 'accounts poll', polled)
  else {
    printTable(
      io,
      [whole('HUB ID'), named('DOMAIN'), state('OUTCOME'), spare(whole('LAST READ')), prose('WHY')],
      polled.map(({ hubId, hubDomain, outcome, polledAt, reason }) => [
        ...[String(hubId), hubDomain, outcome, timeCell(polledAt), reason ?? ''],
      ]),
    )
  }
  const failed = polled.filter(({ outcome }) => outcome === 'failed').length
  if (failed === 0) return
  throw new CommandError(`${failed} of ${countOf(polled.length, 'account')} could not be read, or not all of it`)
}

async function pollAll(io: Io, parts: Parts, hubIds: readonly number[]): Promise<PolledShape[]> {
  const jobs = openAccountJobs(parts, io.stop)
  const progress = showProgress(io, 'accounts polled', hubIds.length)
  let done = 0
  const pollOne = async (hubId: number) => {
    const { account, reason } = await pollNow(jobs, parts.registry, hubId)
    progress.at(++done, hubIds.length)
    return polledJson(hubId, account, reason)
  }
  return Promise.all(hubIds.map(pollOne)).finally(progress.end)
}

/** `plimsoll accounts refresh ACCOUNT`: at once, unless the account's next attempt is planned after one that failed. */
export async function refresh(io: Io, name: AccountName, options: CommonOptions): Promise<void> {
  const { hubId, ...refreshed } = await withParts(
    io,
    options.config,
    async (parts) => {
      const hubId = await hubIdOf(parts, name)
      const progress = showProgress(io, `refreshing account ${hubId}`)
      const outcome = await refreshNow(openAccountJobs(parts, io.stop), parts.registry, hubId).finally(progress.end)
      return { hubId, ...outcome }
    },
    { writesAs: 'accounts refresh', stops: 'by itself' },
  )
  if (refreshed.is === 'unknown') throw unknownAccount(hubId)
  if (refreshed.is !== 'refreshed') throw new CommandError(`account ${hubId} was not refreshed: ${refreshed.why}`)
  const told = refreshedJson(refreshed.account)
  if (options.json === true) return printJson(io, 'accounts refresh', told)
  say(io, `refreshed account ${hubId}: its access token is valid until ${timeCell(told.expiresAt)}`)
}
