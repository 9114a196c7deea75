import type { Config } from '../../config/schema.ts'
import type { Scope } from '../http/access/admin-tokens.ts'
import { AdminTokenStore, tokenFileIn } from '../http/access/admin-tokens.ts'
import { iso } from '../text/format-time.ts'
import type { CommonOptions } from './arguments.ts'
import { CommandError, type Io, printJson } from './io.ts'
import { say } from './say.ts'
import { ageCell, printTable, spare, whole } from './table.ts'
import { withStore } from './with-parts.ts'

export async function make(io: Io, name: string, options: CommonOptions & { scopes: Scope[] }): Promise<void> {
  const { config, scopes } = options
  const token = await withStore(io, { config, writesAs: 'admin-tokens add' }, ({ store, keys, vault }) =>
    new AdminTokenStore(store, keys, vault).add(name, scopes, io.clock.now()),
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
    ...{ name, scopes: [...scopes], createdAt: iso(createdAt), lastUsedAt: iso(lastUsedAt), ignored: !isOurs },
  }))
  if (options.json === true) return printJson(io, 'admin-tokens list', rows)
  if (rows.length === 0)
    return say(io, 'there is no named token: plimsoll admin-tokens add NAME --scopes read makes one')
  const now = io.clock.now()
  printTable(
    io,
    [whole('NAME'), 'SCOPES', spare(whole('AGE')), whole('LAST USED')],
    rows.map(({ name, scopes, createdAt, lastUsedAt, ignored }) => [
      ...[name, ignored ? 'none: ignored' : scopes.join(',')],
      ...[ageCell(createdAt, now), ageCell(lastUsedAt, now)],
    ]),
  )
  if (!rows.some(({ ignored }) => ignored)) return
  say(
    io,
    'What is ignored was not sealed with a key of this installation: it was made before tokens were sealed, under a key that is gone, or by ' +
      'another program. plimsoll admin-tokens remove NAME ends it, plimsoll admin-tokens add NAME makes another one',
  )
}

export async function remove(io: Io, name: string, options: CommonOptions): Promise<void> {
  const { outcome, left, opens } = await withStore(io, options, async ({ config, store, keys, vault }) => {
    const tokens = new AdminTokenStore(store, keys, vault)
    const outcome = await tokens.remove(name)
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
