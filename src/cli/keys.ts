import type { Config } from '../../config/schema/schema.ts'
import { addAdminToken, rekeyStored, removeAdminToken } from '../app/key-actions.ts'
import type { Services } from '../app/services.ts'
import { AdminTokenStore, tokenFileIn } from '../http/access/admin-tokens.ts'
import type { Scope } from '../http/access/scopes.ts'
import { ageCell } from '../text/cells.ts'
import { spare, whole } from '../text/columns.ts'
import { countOf } from '../text/format-number.ts'
import { iso } from '../text/format-time.ts'
import type { Rekeyed } from '../tokens/rekey.ts'
import type { Writer } from '../tokens/vault-keys.ts'
import type { CommonOptions } from './arguments.ts'
import { confirm } from './confirm.ts'
import { CommandError, type Io, printJson } from './io.ts'
import type { JsonOf } from './json-shapes.ts'
import { showProgress } from './progress.ts'
import { say } from './say.ts'
import { printTable } from './table.ts'
import { whoRuns } from './who-runs.ts'
import { withParts, withStore } from './with-parts.ts'

/** `plimsoll keys rekey`. */
export async function rekey(io: Io, options: CommonOptions & { yes?: boolean }): Promise<void> {
  await confirm(io, options.yes, {
    question: 'All stored tokens are encrypted anew with the first key of encryption.keys. Is that key backed up?',
    answer: 'yes',
  })
  const progress = showProgress(io, 'accounts')
  const watcher = {
    progress: progress.at,
    waiting: (writers: readonly Writer[]) => {
      io.err(`waiting for processes that still encrypt with another key: ${writers.map(writerText).join(', ')}\n`)
    },
    signal: io.stop,
  }
  // A key that is missing may be one that nothing is encrypted with any more: this command finds out.
  const work = (parts: Services) => rekeyStored(parts, watcher, whoRuns(io))
  const needs = { ...options, missingKeys: 'allowed', writesAs: 'keys rekey', stops: 'by itself' } as const
  const rekeyed = await withParts(io, needs, work).finally(progress.end)
  if (options.json === true) printJson(io, 'keys rekey', jsonOf(rekeyed))
  else say(io, ...summaryOf(rekeyed))
  failUnlessDone(rekeyed)
}

function jsonOf({ is, keyId, writers, writingKeys, ...counts }: Rekeyed): JsonOf<'keys rekey'> {
  return {
    outcome: is,
    key: keyId,
    ...counts,
    ...(is === 'writing' ? { writingKeys, writers: writers.map(({ daemon, keyId }) => ({ daemon, keyId })) } : {}),
  }
}

function summaryOf({ is, keyId, accounts, replaced, unopened, removable, needed }: Rekeyed): string[] {
  const done = `${countOf(accounts, 'account')}: ${countOf(replaced, 'value')} encrypted anew with key ${keyId}`
  const named = unopened.map(
    ({ hubId, fields, reason }) => `account ${hubId}: ${fields.join(', ')} left as it was: ${reason}`,
  )
  const isAll = is === 'clean' && unopened.length === 0 && needed.length === 0
  const everything = isAll ? [`everything is encrypted with key ${keyId}`] : []
  const after =
    removable.length === 0
      ? []
      : [
          `nothing is encrypted with key ${removable.join(', ')}: it may be taken out of encryption.keys everywhere, then send each daemon SIGHUP`,
        ]
  return [done, ...named, ...everything, ...after]
}

function failUnlessDone({ is, unopened, needed, writers, writingKeys }: Rekeyed): void {
  if (is === 'stopped') throw new CommandError('stopped: run it again, it goes on where it was')
  if (is === 'writing') {
    const who = writers.length === 0 ? '' : ` (${writers.map(({ daemon }) => daemon).join(', ')})`
    throw new CommandError(
      `another process still writes with key ${writingKeys.join(', ')}${who}: send a daemon SIGHUP, let a command end, then run this again`,
    )
  }
  if (needed.length > 0) {
    const who = needed.map(({ daemon, key }) => `${daemon} needs key ${key}`).join(', ')
    throw new CommandError(
      `${who} for new tokens in its data folder: its /readyz shows why they could not be sealed anew. Keep the key until then, and run this again`,
    )
  }
  if (unopened.length > 0) {
    throw new CommandError(
      `tokens of ${countOf(unopened.length, 'account')} were left as they were: add the key that is missing to encryption.keys, or have the customer connect again`,
    )
  }
}

function writerText({ daemon, keyId }: Writer): string {
  return `${daemon} with key ${keyId}`
}

export async function make(io: Io, name: string, options: CommonOptions & { scopes: Scope[] }): Promise<void> {
  const { config, scopes } = options
  const token = await withStore(io, { config, writesAs: 'admin-tokens add' }, (parts) =>
    addAdminToken(parts, name, scopes, whoRuns(io)),
  )
  if (token === 'taken') {
    throw new CommandError(`there is a token ${name} already: plimsoll admin-tokens remove ${name} ends it`)
  }
  if (options.json === true) return printJson(io, 'admin-tokens add', { name, scopes, token: token.reveal() })
  io.out(`${token.reveal()}\n`)
  say(io, `Keep it: it is shown this once. ${name} may: ${scopes.join(', ')}`)
}

export async function listAdminTokens(io: Io, options: CommonOptions): Promise<void> {
  const tokens = await withStore(io, options, ({ store, keys, vault }) =>
    new AdminTokenStore(store, keys, vault).list(),
  )
  const rows = tokens.map(({ name, scopes, createdAt, lastUsedAt, isOurs }) => ({
    name,
    scopes: [...scopes],
    createdAt: iso(createdAt),
    lastUsedAt: iso(lastUsedAt),
    ignored: !isOurs,
  }))
  if (options.json === true) return printJson(io, 'admin-tokens list', rows)
  if (rows.length === 0)
    return say(io, 'there is no named token: plimsoll admin-tokens add NAME --scopes read makes one')
  const now = io.clock.now()
  printTable(
    io,
    [whole('NAME'), 'SCOPES', spare(whole('AGE')), whole('LAST USED')],
    rows.map(({ name, scopes, createdAt, lastUsedAt, ignored }) => [
      name,
      ignored ? 'none: ignored' : scopes.join(','),
      ageCell(createdAt, now),
      ageCell(lastUsedAt, now),
    ]),
  )
  if (!rows.some(({ ignored }) => ignored)) return
  say(
    io,
    'What is ignored was not sealed with a key of this installation: it was made before tokens were sealed, under a key that is gone, or by ' +
      'another program. plimsoll admin-tokens remove NAME ends it, plimsoll admin-tokens add NAME makes another one',
  )
}

export async function remove(io: Io, name: string, options: CommonOptions & { yes?: boolean }): Promise<void> {
  await confirm(io, options.yes, {
    question: `The admin token ${name} and all sessions that it began end.`,
    answer: name,
  })
  const { outcome, left, opens } = await withStore(io, options, async (parts) => {
    const { config, store, keys, vault } = parts
    const outcome = await removeAdminToken(parts, name, whoRuns(io))
    const tokens = new AdminTokenStore(store, keys, vault)
    const left = (await tokens.list()).filter(({ isOurs }) => isOurs).length
    return { outcome, left, opens: mainTokenIn(config) }
  })
  if (outcome === 'unknown') throw new CommandError(`there is no token ${name}: plimsoll admin-tokens list shows all`)
  if (options.json === true) return printJson(io, 'admin-tokens remove', { name, outcome })
  say(io, `${name} is removed: the daemon refuses it within two seconds`)
  if (left === 0) say(io, `It was the last named one. What opens pages and API now is ${opens}`)
}

function mainTokenIn({ http, dataDir }: Config): string {
  return http.adminToken === undefined ? `the token in ${tokenFileIn(dataDir)}` : 'http.adminToken of the config'
}
