import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { connectWithRefreshToken } from '../accounts/connect-account.ts'
import { reconnectLink } from '../accounts/reconnect-link.ts'
import { connectDeps, connected } from '../app/account-actions.ts'
import { Secret } from '../runtime/secret.ts'
import { cleanText } from '../text/clean-text.ts'
import type { AccountName, CommonOptions } from './arguments.ts'
import { CommandError, type Io, printJson, unreadable } from './io.ts'
import { hubIdOf, unknownAccount } from './named-account.ts'
import { say } from './say.ts'
import { momentCell } from './table.ts'
import { withParts, withStore } from './with-parts.ts'

/** `plimsoll accounts connect`. */
export async function connect(io: Io, options: CommonOptions & { refreshTokenFile: string }): Promise<void> {
  const file = resolve(io.cwd, options.refreshTokenFile)
  const outcome = await withParts(
    io,
    options.config,
    async (parts) => {
      const connecting = await connectWithRefreshToken(
        connectDeps(parts),
        readToken(file, options.refreshTokenFile),
        (latest) => writeFileSync(file, `${latest.reveal()}\n`, { mode: 0o600 }),
      )
      if (connecting.is !== 'failed') await connected(parts)
      return connecting
    },
    { withoutData: 'begins', writesAs: 'accounts connect', stops: 'by itself' },
  )
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
export async function printReconnectLink(io: Io, name: AccountName, options: CommonOptions): Promise<void> {
  const { hubId, url, expiresAt } = await withStore(io, options.config, async (parts) => {
    const hubId = await hubIdOf(parts, name)
    if ((await parts.registry.get(hubId)) === undefined) throw unknownAccount(hubId)
    return { hubId, ...reconnectLink(parts.vault, parts.config.http.publicUrl, hubId, io.clock.now()) }
  })
  const until = new Date(expiresAt).toISOString()
  if (options.json === true) return printJson(io, 'accounts reconnect-link', { hubId, url, expiresAt: until })
  io.out(`${url}\n`)
  if (io.isTerminal) say(io, `It connects account ${hubId} and no other, until ${momentCell(expiresAt)}.`)
}
