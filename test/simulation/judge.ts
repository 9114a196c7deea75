import { openToken } from '../../src/tokens/vault.ts'
import type { Scene } from './daemon.ts'
import type { IssuedToken } from './provider.ts'

/** What was asked for last, for each account. */
export type Intents = Map<number, 'connected' | 'uninstalled'>

/** What the last step that was to store tokens of an account answered. */
export type Stored = Map<number, string>

export interface Violation {
  /** What happened, in words that a known one is listed by. */
  what: string
  hubId: number
}

const LOST = 'a refresh token that a living process saw is lost'
const DROPPED = 'an answer newer than what is stored is dropped'

/** What must hold once all has come to its end, by the provider's own record. */
export async function judge(
  scene: Scene,
  hubIds: readonly number[],
  intents: Intents,
  stored: Stored,
): Promise<Violation[]> {
  const violations: Violation[] = []
  for (const hubId of hubIds) {
    const intent = intents.get(hubId)
    const found = intent === undefined ? undefined : await judgeAccount(scene, hubId, intent)
    const isDropped = found === LOST && stored.get(hubId) === 'lost'
    if (found !== undefined) violations.push({ what: isDropped ? DROPPED : found, hubId })
  }
  return violations
}

async function judgeAccount(scene: Scene, hubId: number, intent: 'connected' | 'uninstalled') {
  const { real, keys, provider } = scene
  const state = await real.hget(keys.account(hubId).account, 'state')
  const isLive = state !== null && state !== 'uninstalling' && state !== 'uninstalled'
  const alive = provider.of(hubId).filter((token) => token.is === 'alive')
  const canBeKnown = alive.filter(wasSeen)
  if (intent === 'uninstalled') {
    if (isLive) return 'an uninstalled account is back'
    if (state !== null) return `an uninstalled account is never forgotten`
    return canBeKnown.length > 0 ? 'a refresh token is left alive after the uninstall' : undefined
  }
  if (!isLive) return 'a connected account is gone'
  if (alive.length === 0) return provider.of(hubId).at(-1)?.is === 'deleted' ? 'the new grant is deleted' : undefined
  const stored = await storedToken(scene, hubId)
  if (stored?.is === 'alive' || canBeKnown.length === 0) return undefined
  return LOST
}

/** Of a token that nobody alive ever saw nobody can take care. */
function wasSeen(token: IssuedToken): boolean {
  return token.seenBy.some(({ isAlive }) => isAlive)
}

async function storedToken({ real, keys, vault, provider }: Scene, hubId: number): Promise<IssuedToken | undefined> {
  const sealed = await real.hgetBuffer(keys.account(hubId).tokens, 'refresh')
  const opened = sealed === null ? undefined : openToken(vault, sealed, hubId, 'refresh')
  return opened?.ok === true ? provider.issued.get(opened.value.reveal()) : undefined
}
