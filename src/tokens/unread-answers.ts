import { randomUUID } from 'node:crypto'
import { readKeptAnswer, type TokenAnswer } from '../provider/answers.ts'
import type { UnreadAnswer } from '../provider/failure.ts'
import { type AlertWrites, NO_ACCOUNT, NO_ALERT_WRITES } from '../redis/steps.ts'
import { Secret } from '../runtime/secret.ts'
import { type Holder, holderFacts, type TokenDeps, UNKNOWN_KEPT_MS } from './pending-tokens.ts'
import type { RefreshSettings } from './plan-refresh.ts'
import { answerToStore, type RefreshClaims, refreshClaimMs } from './redeem.ts'
import { openFiles, sealedLine, writeLines } from './sealed-tokens.ts'
import { openToken, type Vault } from './vault.ts'

const UNREAD = '.unread'

/** An answer of the token endpoint that could not be read, of an account or of the grant of an install. */
export interface KeptUnread extends UnreadAnswer {
  holder: Holder
  /** Version of the tokens that were stored then. */
  version?: string
  /** The only account that an install may connect. */
  only?: number | undefined
}

/**
 * Seals the answer into a file of the data folder, one for an account: a later answer is a further line, because the first one
 * may hold the token that works. Returns the outcome, for people. Never throws.
 */
export function keepUnread(
  { vault, log }: Pick<TokenDeps, 'vault' | 'log'>,
  dataDir: string,
  { holder, body, sent, ...others }: KeptUnread,
): string {
  try {
    const name = `${typeof holder === 'number' ? holder : randomUUID()}${UNREAD}`
    const before = openFiles(vault, dataDir, UNREAD).find((file) => file.name === name)?.lines ?? []
    const text = new Secret(JSON.stringify({ ...others, body: body.reveal(), sent: sent.reveal() }))
    const lines = [...before.map(({ line }) => line), sealedLine(vault, holder, text)]
    return `it is kept sealed in ${writeLines(dataDir, name, lines)}`
  } catch (err) {
    const facts = { code: 'token.not-sealed', ...holderFacts(holder), err } as const
    log.error(facts, 'an unread answer could not be kept on disk')
    return `it could not be kept in ${dataDir}`
  }
}

/** Answers that could not be read, by the names of their files; undefined: no key opens it. */
export function readUnread(vault: Vault, dataDir: string): { name: string; answers: (KeptUnread | undefined)[] }[] {
  return openFiles(vault, dataDir, UNREAD).map(({ name, lines }) => ({
    name,
    answers: lines.map(({ holder, text }) => {
      if (text === undefined) return undefined
      const { body, sent, ...others } = JSON.parse(text.reveal())
      return { ...others, holder, body: new Secret(body), sent: new Secret(sent) }
    }),
  }))
}

export interface ReadAgainDeps extends TokenDeps {
  announce: { recovered(account: { hubId: number; hubDomain: string; tokenAlert: string; now: number }): AlertWrites }
  settings: RefreshSettings
  due: RefreshClaims
  callMs: number
}

/**
 * Stores the answers that an earlier version could not read, and this one can. A file goes once its tokens are stored, or
 * newer ones are. Throws where the data folder can't be read.
 */
export async function storeUnread(deps: ReadAgainDeps, dataDir: string): Promise<void> {
  for (const { name, answers } of readUnread(deps.vault, dataDir)) {
    const outcomes = new Set<string>()
    for (const kept of answers) {
      const is = kept === undefined ? 'left' : await storeOne(deps, kept)
      outcomes.add(is)
      if (is === 'left' || kept === undefined) continue
      const facts = { code: 'token.unsealed', ...holderFacts(kept.holder), is } as const
      deps.log.info(facts, 'an answer that could not be read before')
    }
    // Once one answer is stored, the others of the account are older than its tokens.
    const isStored = [...outcomes].some((is) => is !== 'left' && is !== 'lost')
    if (isStored || !outcomes.has('left')) writeLines(dataDir, name, [])
  }
}

async function storeOne(deps: ReadAgainDeps, kept: KeptUnread) {
  const { holder } = kept
  const answer = readKeptAnswer(kept.body)
  if (typeof holder === 'string') return answer === undefined ? 'left' : storeGrant(deps, holder, kept, answer)
  const stored = await deps.tokens.read(holder)
  const isForgotten = stored === undefined && deps.clock.now() - kept.sentAt > UNKNOWN_KEPT_MS
  if (isForgotten || Number(stored?.version) > Number(kept.version)) return 'lost'
  if (answer === undefined || deps.pending.has(holder)) return 'left'
  return deps.pending.hold(holder, () => storeOfAccount(deps, holder, kept, answer))
}

/** With a claim: no other worker redeems the refresh token that was sent. */
async function storeOfAccount(deps: ReadAgainDeps, hubId: number, kept: KeptUnread, answer: TokenAnswer) {
  const { tokens, clock, announce } = deps
  const now = clock.now()
  const claimed = await deps.due.claimOne('refresh', hubId, refreshClaimMs(deps.callMs))
  if (typeof claimed === 'string') return 'left'
  const { claim } = claimed
  const begun = await tokens.begin(hubId, claim)
  if (begun.is !== 'begun') return 'left'
  const { version, refreshToken, hubDomain, tokenAlert } = begun.context
  const current = openToken(deps.vault, refreshToken, hubId, 'refresh')
  if (version !== kept.version || !current.ok) {
    await tokens.leave(hubId, claim, now)
    return 'left'
  }
  const subject = { hubId, hubDomain, tokenAlert, now }
  const recovered = tokenAlert === '' ? NO_ALERT_WRITES : announce.recovered(subject)
  const job = { hubId, claim, context: begun.context, recovered }
  const sent = { sent: kept.sent, current: current.value }
  return deps.pending.store(answerToStore(deps.settings, job, sent, kept.sentAt, answer))
}

async function storeGrant(deps: ReadAgainDeps, id: string, kept: KeptUnread, answer: TokenAnswer) {
  const { accessToken: access, refreshToken: refresh, lifetimeMs } = answer
  if (refresh === undefined) return 'left'
  const { sentAt, only } = kept
  const version = Number(kept.version)
  const times = { obtainedAt: sentAt, expiresAt: sentAt + lifetimeMs }
  const grant = { hubId: NO_ACCOUNT, id, access, refresh, times, grantedAt: sentAt, only, version } as const
  await deps.pending.park(grant, deps.clock.now())
  return 'parked'
}
