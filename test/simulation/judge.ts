import { type Alert, alertOf } from '../../src/alerts/alert.ts'
import { readOpenIds } from '../../src/alerts/open-alerts.ts'
import { decodeEntry } from '../../src/alerts/outbox.ts'
import { keyIdOf, openToken } from '../../src/tokens/vault.ts'
import { verifyOutbox } from '../../src/views/verify-outbox.ts'
import type { Scene } from './daemon.ts'
import { askedForUsed } from './partitions.ts'
import type { IssuedToken } from './provider.ts'
import { OLD_KEY } from './rekey-parts.ts'

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

/** What must hold of alerts once all has come to its end, by the receiver's own record. Where it was lost that something was told, it is told again. */
export async function judgeAlerts(scene: Scene, hubIds: readonly number[], isToldTwice: boolean): Promise<Violation[]> {
  const got = [...scene.receiver.got.values()].flat()
  const names = got.flatMap(({ id, supersedes = [] }) => [id, ...supersedes])
  const named = new Set(names)
  const violations: Violation[] = []
  if (named.size < names.length && !isToldTwice) violations.push({ what: 'what was committed is told twice', hubId: 0 })
  for (const hubId of hubIds) {
    const own = got.filter(({ kind, account }) => kind === 'limit' && account?.hubId === hubId)
    const firing = lastOfEach(own).filter(({ status }) => status === 'firing')
    const found = judgeFiring(firing, scene.provider.usage.get(hubId) ?? 0)
    if (found !== undefined) violations.push({ what: found, hubId })
    const committed = await readCommittedOf(scene, hubId)
    if (committed.some(({ id }) => !named.has(id))) violations.push({ what: 'what was committed is never told', hubId })
  }
  if (!(await isBalanced(scene, hubIds))) violations.push({ what: 'the ledger does not balance', hubId: 0 })
  return violations
}

function judgeFiring(firing: readonly Alert[], usage: number): string | undefined {
  const level = usage >= 950 ? 'critical' : usage >= 800 ? 'warning' : undefined
  if (level === undefined) return firing.length === 0 ? undefined : 'what is over is left as firing'
  if (firing.length === 0) return 'what fires is not known to the receiver'
  if (firing.length > 1) return 'what is over is left as firing'
  return firing[0]?.level === level ? undefined : 'the receiver has an older level'
}

/** What the receiver knows last of each alert: they are numbered. */
function lastOfEach(alerts: readonly Alert[]): Alert[] {
  const numberOf = ({ id }: Alert) => Number(/\d+$/.exec(id)?.[0])
  const newest = (some: Alert[]) => some.toSorted((a, b) => numberOf(b) - numberOf(a)).slice(0, 1)
  return [...Map.groupBy(alerts, alertOf).values()].flatMap(newest)
}

async function readCommittedOf({ real, keys }: Scene, hubId: number): Promise<Alert[]> {
  const entries = await real.xrange(keys.partition(keys.partitionOf(hubId)).log, '-', '+')
  return entries.map(([, fields]) => decodeEntry(fields[1] ?? '').alert)
}

async function isBalanced({ real, keys, world }: Scene, hubIds: readonly number[]): Promise<boolean> {
  const readOpen = () => readOpenIds(real, keys, hubIds)
  const proof = await verifyOutbox({
    store: askedForUsed(real),
    keys,
    readOpen,
    now: () => world.now,
    pause: async () => {},
  })
  return proof.balanced && proof.pending === 0
}

/**
 * Whether all that is stored of an account opens without the old key, or the old key is known to be in use: then no daemon
 * starts without it.
 */
export async function judgeKeys(
  { real, keys }: Scene,
  hubIds: readonly number[],
  rekeyed: string,
): Promise<Violation[]> {
  const isKnown = (await real.sismember(keys.vault.used, OLD_KEY.id)) === 1
  const found = await Promise.all(
    hubIds.map(async (hubId) => {
      const stored = await real.hmgetBuffer(keys.account(hubId).tokens, 'access', 'refresh', 'previous')
      const isOld = stored.some((sealed) => sealed !== null && sealed.length > 0 && keyIdOf(sealed) === OLD_KEY.id)
      return isOld && !isKnown ? [{ what: `a token needs the old key ${rekeyed}`, hubId }] : []
    }),
  )
  return found.flat()
}
