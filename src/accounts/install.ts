import { createHash, createHmac, randomBytes } from 'node:crypto'
import { isSameText, Secret } from '../runtime/secret.ts'
import { type LinkKind, readSigned, signedPath } from '../runtime/signed-links.ts'
import type { Vault } from '../tokens/vault.ts'
import { type CodeDeps, type CodeOutcome, connectWithCode, finishInHand } from './connect-account.ts'

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
  return installUrl(settings, newInstallState(vault, now, only))
}

/** The `state` of one install: a nonce, a moment of expiry and the only account, signed. Nothing is kept of it before it is used. */
export function newInstallState(vault: Vault, now: number, only?: number, expiresAt = now + LIFETIME_MS): string {
  const account = only === undefined ? '' : `.${only}`
  const text = `${randomBytes(16).toString('base64url')}.${expiresAt.toString(36)}${account}`
  return `${text}.${sign(vault.derive(STATE_KEY), text)}`
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
    client_id: settings.clientId,
    redirect_uri: settings.redirectUri,
    scopes,
    scope: scopes,
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
  /** The address that brings it. */
  from?: string
}

export type InstallOutcome =
  | CodeOutcome
  | { is: 'refused'; reason: string }
  | { is: 'bad-state' }
  | { is: 'no-code' }
  /** Another visit of this address is still connecting the account. */
  | { is: 'under-way' }
  /** The page of a success was loaded again: nothing was exchanged, stored or counted. */
  | { is: 'shown-again'; success: Success }

type OtherAccount = Extract<CodeOutcome, { wanted: number }>
type Success = Extract<CodeOutcome, { scopes: string[] }> | { is: 'parked' } | OtherAccount

/** The redirect that ends an install. A state is used up by a code that was sent, by nothing else. */
export async function finishInstall(deps: CodeDeps, redirect: Redirect): Promise<InstallOutcome> {
  const { code, error, from } = redirect
  // A refusal changes nothing, whoever brings it.
  if (error !== undefined) return { is: 'refused', reason: error }
  const state = readInstallState(deps.vault.deriveEach(STATE_KEY), redirect.state ?? '', deps.clock.now())
  if (state === undefined) return { is: 'bad-state' }
  if (code === undefined || code === '') return { is: 'no-code' }
  return redeemOnce(deps, { id: state.nonce, only: state.only, code, from, until: state.expiresAt })
}

/** A code from the provider's marketplace has no state: what is used up is the code itself. */
export async function finishMarketplaceInstall(deps: CodeDeps, { code = '', from }: Redirect): Promise<InstallOutcome> {
  if (code === '') return { is: 'no-code' }
  const id = sign(deps.vault.derive(STATE_KEY), `marketplace:${code}`).slice(0, NONCE_LENGTH)
  return redeemOnce(deps, { id, code, from, until: deps.clock.now() + LIFETIME_MS })
}

/** A nonce in base64url has so many characters. */
const NONCE_LENGTH = 22

/** A code that is redeemed once, whichever daemon and however often its address is visited. */
interface CodeUse {
  id: string
  only?: number | undefined
  code: string
  from: string | undefined
  /** Moment until which it is remembered, ms. */
  until: number
}

/** Pause between two looks at the note of another visit, and how long this one waits for its outcome. */
const LOOK_EVERY_MS = 200
const LONGEST_WAIT_MS = 15_000
/** An exchange that began earlier than this has died with its daemon. */
const DIED_AFTER_MS = 5 * 60_000

/**
 * One visit at a time has the code, by a note: `begun` and when, or its outcome and the account, then the digest of the code. The others
 * wait for its outcome, and show it while the account is connected. Another code with the same state learns nothing.
 */
async function redeemOnce(deps: CodeDeps, use: CodeUse): Promise<InstallOutcome> {
  const { store, keys, pending, clock } = deps
  const note = keys.usedInstallState(use.id)
  const code = createHash('sha256').update(use.code).digest('base64url')
  const lastsMs = Math.max(1, use.until - clock.now())
  const finished = async (outcome: CodeOutcome): Promise<InstallOutcome> => {
    // The code is as good as before.
    if (outcome.is === 'waits') await store.del(note)
    // A pending grant is stored later: until then it is under way.
    if (outcome.is === 'waits' || outcome.is === 'unstored') return outcome
    const isOver = !('scopes' in outcome || outcome.is === 'parked' || ('wanted' in outcome && outcome.isReconnected))
    const about = isOver ? 'over 0' : `${outcome.is} ${'hubId' in outcome ? outcome.hubId : 0}`
    // The account is stored: where Redis refuses the note, the state is used up, no more.
    await store.set(note, `${about} ${code}`, 'PX', lastsMs).catch(() => undefined)
    return outcome
  }
  for (let waited = 0; ; waited += LOOK_EVERY_MS) {
    // Asked again while Redis had not taken the grant: it is tried at once, which is sooner than otherwise.
    const idle = pending.idleGrant(use.id)
    if (idle !== undefined) return finished(await finishInHand(deps, idle))
    const begun = await store.set(note, `begun ${clock.now()} ${code}`, 'PX', lastsMs, 'NX')
    if (begun !== null) return finished(await connectWithCode(deps, new Secret(use.code), use))
    const noted = /^(begun|connected|reconnected|parked|other-account|over) (\d{1,16}) ([\w-]{43})$/
    const text = await store.get(note)
    // The other visit has just given the code back.
    if (text === null && waited < LONGEST_WAIT_MS) continue
    const [, is = 'over', about = '', of = ''] = noted.exec(text ?? '') ?? []
    if (is === 'over' || !isSameText(of, code)) return { is: 'bad-state' }
    if (is !== 'begun') return showAgain(deps, use, is, Number(about))
    if (clock.now() - Number(about) > DIED_AFTER_MS) return { is: 'bad-state' }
    if (waited >= LONGEST_WAIT_MS) return { is: 'under-way' }
    await clock.wait(LOOK_EVERY_MS)
  }
}

async function showAgain(
  { store, keys }: CodeDeps,
  { only }: CodeUse,
  is: string,
  hubId: number,
): Promise<InstallOutcome> {
  if (is === 'parked') return { is: 'shown-again', success: { is } }
  const { account, tokens } = keys.account(hubId)
  const [[state, domain], scopes] = await Promise.all([
    store.hmget(account, 'state', 'hubDomain'),
    store.hget(tokens, 'scopes'),
  ])
  // The tokens of the others are not kept alive.
  if (state !== 'active' && state !== 'failing' && state !== 'parked') return { is: 'bad-state' }
  const hubDomain = domain ?? ''
  if (is === 'other-account')
    return { is: 'shown-again', success: { is, hubId, hubDomain, wanted: only ?? hubId, isReconnected: true } }
  const granted = (scopes ?? '').split(' ').filter((scope) => scope !== '')
  const success = { is: is as 'connected' | 'reconnected', hubId, hubDomain, scopes: granted }
  return { is: 'shown-again', success }
}

/** How long a customer may take on the provider's install page. */
const LIFETIME_MS = 3_600_000

/** Undefined: none of ours, or too old. Any of the keys may have signed it: they change while installs are under way. */
function readInstallState(keys: readonly Buffer[], state: string, now: number) {
  const [, text = '', nonce = '', expires = '', only, signature = ''] =
    /^(([\w-]{22})\.([0-9a-z]{1,10})(?:\.(\d{1,16}))?)\.([\w-]{43})$/.exec(state) ?? []
  if (!keys.some((key) => isSameText(signature, sign(key, text)))) return undefined
  const expiresAt = Number.parseInt(expires, 36)
  return expiresAt > now ? { nonce, expiresAt, only: only === undefined ? undefined : Number(only) } : undefined
}

/**
 * The only account of an install whose `state` was signed here, and an address that begins it anew. It lasts no longer than
 * that state: else a link for one account could be renewed without end.
 */
export function beginAgain(vault: Vault, settings: InstallSettings, state = '', now = 0) {
  const { only, expiresAt = 0 } = readInstallState(vault.deriveEach(STATE_KEY), state, now) ?? {}
  if (only === undefined) return undefined
  return { hubId: only, url: installUrl(settings, newInstallState(vault, now, only, expiresAt)) }
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
