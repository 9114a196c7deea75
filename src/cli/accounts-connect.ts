import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { connectByToken, makeReconnectLink } from '../app/account-actions.ts'
import { replaceSecretFile } from '../runtime/data-folder.ts'
import { Secret } from '../runtime/secret.ts'
import { cleanText } from '../text/clean-text.ts'
import { formatMoment } from '../text/format-time.ts'
import type { AccountArgument, CommonOptions } from './arguments.ts'
import { CommandError, type Io, printJson, unreadable } from './io.ts'
import { say } from './say.ts'
import { whoRuns } from './who-runs.ts'
import { hubIdNamed, noSuchAccount, withParts, withStore } from './with-parts.ts'

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
