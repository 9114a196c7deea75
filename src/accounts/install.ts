import { createHmac, randomBytes } from 'node:crypto'
import { unlessOfOtherType } from '../redis/other-type.ts'
import { isSameText, Secret } from '../runtime/secret.ts'
import { type LinkKind, readSigned, signedPath } from '../runtime/signed-links.ts'
import type { GrantToStore } from '../tokens/token-store.ts'
import type { Vault } from '../tokens/vault.ts'
import { type CodeDeps, type CodeOutcome, connectWithCode, finishInHand, works } from './connect-account.ts'

export interface InstallSettings {
  installUrl: string
  clientId: string
  redirectUri: string
  scopes: readonly string[]
  optionalScopes: readonly string[]
}

/**
 * A fresh install address (interface 1) whose `state` works once. Any client may ask for any number: nothing is stored.
 * `only`: no other account is connected by it.
 */
export function beginInstall(vault: Vault, settings: InstallSettings, now: number, only?: number): string {
  return installUrl(settings, writeInstallState(vault.derive(STATE_KEY), randomBytes(16), now, only))
}

const STATE_KEY = 'install'

/**
 * The scopes are there twice: `scopes` and `optional_scopes` are the interface's names, `scope` and `optional_scope`
 * the ones that the provider's install page reads.
 */
export function installUrl(settings: InstallSettings, state: string): string {
  const url = new URL(settings.installUrl)
  const scopes = settings.scopes.join(' ')
  const optional = settings.optionalScopes.join(' ')
  const query = {
    ...{ client_id: settings.clientId, redirect_uri: settings.redirectUri, scopes, scope: scopes },
    ...(optional === '' ? {} : { optional_scopes: optional, optional_scope: optional }),
    state,
  }
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  // %20, because not every install page reads a plus as a space.
  url.search = url.search.replaceAll('+', '%20')
  return url.href
}

export interface Redirect {
  code?: string | undefined
  state?: string | undefined
  error?: string | undefined
}

export type InstallOutcome =
  | CodeOutcome
  | { is: 'refused'; reason: string }
  | { is: 'bad-state' }
  | { is: 'no-code' }
  /** The page of a success was loaded again: nothing was exchanged, stored or counted. */
  | { is: 'shown-again'; success: Success }

type Success = Extract<CodeOutcome, { scopes: string[] }> | { is: 'parked' }

/** The redirect that ends an install. A state is used up by a code that was sent, by nothing else. */
export async function finishInstall(deps: CodeDeps, redirect: Redirect): Promise<InstallOutcome> {
  const state = readInstallState(deps.vault.deriveEach(STATE_KEY), redirect.state ?? '', deps.clock.now())
  if (state === undefined) return { is: 'bad-state' }
  if (redirect.error !== undefined) return { is: 'refused', reason: redirect.error }
  if (redirect.code === undefined || redirect.code === '') return { is: 'no-code' }
  const inHand = deps.unstored.grant(state.nonce)
  const note = { of: deps.keys.usedInstallState(state.nonce), code: redirect.code, until: state.expiresAt }
  if (inHand !== undefined) return noteSuccess(deps, note, await finishAgain(deps, inHand))
  // In Redis, because the same redirect may reach two daemons. As many are kept as codes are sent within an hour.
  const lastsMs = Math.max(1, state.expiresAt - deps.clock.now())
  if ((await deps.store.set(note.of, '1', 'PX', lastsMs, 'NX')) === null)
    return unlessOfOtherType(showAgain(deps, note), { is: 'bad-state' })
  const outcome = await connectWithCode(deps, new Secret(redirect.code), { id: state.nonce, only: state.only })
  if (outcome.is === 'waits') await deps.store.del(note.of)
  return noteSuccess(deps, note, outcome)
}

/** Note of a used state: its key, its code, and its end (ms). */
interface UsedNote {
  of: string
  code: string
  until: number
}

/** For a page that is loaded again. The account is stored already: where Redis refuses the note, the state is used up, no more. */
async function noteSuccess(deps: CodeDeps, { of, code, until }: UsedNote, outcome: CodeOutcome): Promise<CodeOutcome> {
  if (!('scopes' in outcome || outcome.is === 'parked')) return outcome
  const signature = sign(deps.vault.derive(STATE_KEY), `code:${code}`)
  const text = `${outcome.is} ${'scopes' in outcome ? outcome.hubId : 0} ${signature}`
  const lastsMs = Math.max(1, until - deps.clock.now())
  await deps.store.set(of, text, 'PX', lastsMs).catch(() => undefined)
  return outcome
}

/** The success that this very code led to, while its account is connected. Another code with the same state learns nothing. */
async function showAgain({ store, keys, vault, ...deps }: CodeDeps, { of, code }: UsedNote): Promise<InstallOutcome> {
  const noted = /^(connected|reconnected|parked) (\d{1,16}) ([\w-]{43})$/.exec((await store.get(of)) ?? '')
  const [, is, id = '', signature = ''] = noted ?? []
  if (!vault.deriveEach(STATE_KEY).some((key) => isSameText(signature, sign(key, `code:${code}`))))
    return { is: 'bad-state' }
  if (is === 'parked') return { is: 'shown-again', success: { is } }
  const hubId = Number(id)
  if (!(await works({ ...deps, store, keys, vault }, hubId))) return { is: 'bad-state' }
  const { account, tokens } = keys.account(hubId)
  const [hubDomain, scopes] = await Promise.all([store.hget(account, 'hubDomain'), store.hget(tokens, 'scopes')])
  const granted = (scopes ?? '').split(' ').filter((scope) => scope !== '')
  const success = { is: is as 'connected' | 'reconnected', hubId, hubDomain: hubDomain ?? '', scopes: granted }
  return { is: 'shown-again', success }
}

/** The customer asks again while Redis has not taken the grant: at once, which is sooner than it is tried otherwise. */
async function finishAgain(deps: CodeDeps, { id, access, refresh, ...grant }: GrantToStore): Promise<CodeOutcome> {
  if (deps.unstored.has(id)) return { is: 'unstored' }
  return finishInHand(deps, { ...grant, id, accessToken: access, refreshToken: refresh })
}

/** How long a customer may take on the provider's install page. */
const LIFETIME_MS = 3_600_000

/** The `state` of one install: a nonce, a moment of expiry and the only account, signed. Nothing is kept of it before it is used. */
function writeInstallState(key: Buffer, nonce: Buffer, now: number, only: number | undefined): string {
  const account = only === undefined ? '' : `.${only}`
  const text = `${nonce.toString('base64url')}.${(now + LIFETIME_MS).toString(36)}${account}`
  return `${text}.${sign(key, text)}`
}

/** Undefined: none of ours, or too old. Any of the keys may have signed it: they change while installs are under way. */
function readInstallState(keys: readonly Buffer[], state: string, now: number) {
  const [, text = '', nonce = '', expires = '', only, signature = ''] =
    /^(([\w-]{22})\.([0-9a-z]{1,10})(?:\.(\d{1,16}))?)\.([\w-]{43})$/.exec(state) ?? []
  if (!keys.some((key) => isSameText(signature, sign(key, text)))) return undefined
  const expiresAt = Number.parseInt(expires, 36)
  return expiresAt > now ? { nonce, expiresAt, only: only === undefined ? undefined : Number(only) } : undefined
}

/** The only account that an install may connect, if its `state` was signed here and names one. */
export function accountOfState(vault: Pick<Vault, 'deriveEach'>, state = '', now = 0): number | undefined {
  return readInstallState(vault.deriveEach(STATE_KEY), state, now)?.only
}

/** True where a `state` names a link for one account: only for display, since its signature is not checked. */
export function isOfReconnectLink(state = ''): boolean {
  return /^[\w-]{22}\.[0-9a-z]{1,10}\.\d{1,16}(\.|$)/.test(state)
}

function sign(key: Buffer, text: string): string {
  return createHmac('sha256', key).update(`install:${text}`).digest('base64url')
}

const LINKS: LinkKind<'account'> = {
  path: '/install',
  purpose: 'reconnect',
  parameters: { account: /^[1-9]\d{0,15}$/ },
}

/** Time for a customer to read the mail that it is in; to the hour, so that a page asked again has the same link. */
const LASTS_MS = 7 * 86_400_000
const HOUR_MS = 3_600_000

/** Purpose of the links that acknowledge alerts: it keeps the two kinds apart. */
const KEY = 'acknowledge'

/** A link that connects this account and no other, and until when it does (ms). It may be opened any number of times. */
export function reconnectLink(
  vault: Pick<Vault, 'deriveEach'>,
  publicUrl: string,
  hubId: number,
  now: number,
): { url: string; expiresAt: number } {
  const expiresAt = Math.ceil((now + LASTS_MS) / HOUR_MS) * HOUR_MS
  const path = signedPath(LINKS, { account: String(hubId) }, vault.deriveEach(KEY)[0], expiresAt)
  return { url: `${publicUrl}${path}`, expiresAt }
}

/** `none`: an install of any account. */
export function readReconnectLink(
  vault: Pick<Vault, 'deriveEach'>,
  query: object,
  now: number,
): { is: 'good'; hubId: number } | { is: 'expired' | 'forged' | 'none' } {
  if (!('account' in query || 'signature' in query)) return { is: 'none' }
  const link = readSigned(LINKS, query, vault.deriveEach(KEY), now)
  return link.is === 'good' ? { is: 'good', hubId: Number(link.values.account) } : link
}
