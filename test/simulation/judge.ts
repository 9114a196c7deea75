import { type Alert, alertOf } from '../../src/alerts/alert.ts'
import { readOpenIds } from '../../src/alerts/open-alerts.ts'
import { decodeEntry, numberOf } from '../../src/alerts/outbox.ts'
import { readAccess } from '../../src/tokens/stored-access.ts'
import { keyIdOf, openToken } from '../../src/tokens/vault.ts'
import { proveOutbox } from '../../src/views/verify-outbox.ts'
import type { AlertConfig } from './alert-parts.ts'
import type { Scene } from './daemon.ts'
import type { Intent, Intents } from './intents.ts'
import type { Mix } from './mixes.ts'
import { askedForUsed } from './partitions.ts'
import type { IssuedToken } from './provider.ts'
import { OLD_KEY } from './rekey-parts.ts'

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
    const alive = scene.provider.of(hubId).filter(({ is }) => is === 'alive')
    // An import that Redis refused may be all that there is: the token of its file took the place of those before.
    const isOfFile = alive.length > 0 && !alive.some(wasSeen)
    const isGranted = scene.provider.granted.get(hubId)?.isAlive === true && !isOfFile
    const intent = intents.of(hubId) ?? (isGranted ? 'connected' : undefined)
    const found =
      intent === undefined ? undefined : await judgeAccount(scene, hubId, intent, intents.strange.has(hubId))
    const isDropped = found === LOST && stored.get(hubId) === 'lost'
    if (found !== undefined) violations.push({ what: isDropped ? DROPPED : found, hubId })
    const strayed = await judgeAccess(scene, hubId)
    if (strayed !== undefined) violations.push({ what: strayed, hubId })
  }
  return violations
}

/** `isStrange`: a grant of it was dropped, which is not deleted. */
async function judgeAccount(scene: Scene, hubId: number, intent: Intent, isStrange: boolean) {
  const { real, keys, provider } = scene
  const state = await real.hget(keys.account(hubId).account, 'state')
  const isLive = state !== null && state !== 'uninstalling' && state !== 'uninstalled'
  const alive = provider.of(hubId).filter((token) => token.is === 'alive')
  const canBeKnown = alive.filter(wasSeen)
  if (intent === 'uninstalled') {
    if (isLive) return 'an uninstalled account is back'
    if (state !== null) return `an uninstalled account is never forgotten`
    return canBeKnown.length > 0 && !isStrange ? 'a refresh token is left alive after the uninstall' : undefined
  }
  if (!isLive) return state === null ? 'a grant is stored nowhere' : 'a connected account is gone'
  if (alive.length === 0) {
    const isDeleted = provider.of(hubId).at(-1)?.is === 'deleted' && scene.world.grantsGivenUp === 0
    return isDeleted ? 'the new grant is deleted' : undefined
  }
  // The one before is tried where the last one is refused.
  const stored = await storedTokens(scene, hubId)
  return stored.some(({ is }) => is === 'alive') || canBeKnown.length === 0 ? undefined : LOST
}

/** What is known with the access token is what the record has, and nothing gives one out that is over. */
async function judgeAccess({ real, keys }: Scene, hubId: number): Promise<string | undefined> {
  const { account, access: key } = keys.account(hubId)
  const access = await readAccess(real, keys, hubId)
  if (access === undefined) {
    return (await real.exists(key)) === 1 ? 'an access token is stored that nobody can read' : undefined
  }
  const names = ['state', 'generation', 'obtainedAt', 'expiresAt', 'hubDomain'] as const
  const [state, ...record] = await real.hmget(account, ...names)
  if (state == null || state === 'uninstalling' || state === 'uninstalled') return 'an access token is left behind'
  const { generation, times, hubDomain } = access
  const line = [generation, times.obtainedAt, times.expiresAt, hubDomain].join(' ')
  return line === record.join(' ') ? undefined : 'an access token is stored with what is not true of it'
}

/** Of a token that nobody alive ever saw nobody can take care. */
function wasSeen(token: IssuedToken): boolean {
  return token.seenBy.some(({ isAlive }) => isAlive)
}

async function storedTokens({ real, keys, vault, provider }: Scene, hubId: number): Promise<IssuedToken[]> {
  const all = await real.hmgetBuffer(keys.account(hubId).tokens, 'refresh', 'previous')
  return all.flatMap((sealed) => {
    const opened = sealed === null ? undefined : openToken(vault, sealed, hubId, 'refresh')
    return opened?.ok === true ? (provider.issued.get(opened.value.reveal()) ?? []) : []
  })
}

/** What must hold of alerts once all has come to its end, by the record of each receiver. */
export async function judgeAlerts(scene: Scene, hubIds: readonly number[], mix: Mix): Promise<Violation[]> {
  const violations: Violation[] = []
  const found = (what: string, hubId = 0) => violations.push({ what, hubId })
  for (const { got, outOfOrder, endless, withheld } of scene.receivers.values()) {
    const alerts = [...got.values()].flat()
    const named = new Set(alerts.flatMap(({ id, supersedes = [] }) => [id, ...supersedes]))
    // Where it was lost that something was told, it is told again.
    const isTwice = new Set(alerts.map(({ id }) => id)).size < alerts.length
    if (isTwice && mix.loses !== true) found('what was committed is told twice')
    // By clocks that are minutes apart a delivery is taken over while another daemon sends it.
    const isInOrder = mix.loses !== true && !mix.faults.includes('clock far apart')
    if (outOfOrder.length > 0 && isInOrder) found('an older transition comes after a newer one')
    // One whose beginning came later is out of order.
    const begun = new Set(alerts.filter(({ status }) => status === 'firing').map(alertOf))
    if (endless.some((name) => !begun.has(name))) found('an end comes without a beginning')
    for (const hubId of hubIds) {
      const own = alerts.filter(({ kind, account }) => kind === 'limit' && account?.hubId === hubId)
      const firing = lastOfEach(own).filter(({ status }) => status === 'firing')
      const wrong = judgeFiring(firing, levelOf(scene.config.alerts, scene.provider.usage.get(hubId) ?? 0))
      if (wrong !== undefined) found(wrong, hubId)
      const committed = await readCommittedOf(scene, hubId)
      const isLost = (alert: Alert) => !named.has(alert.id) && numberOf(alert) > (withheld.get(alertOf(alert)) ?? 0)
      if (committed.some(isLost)) found('what was committed is never told', hubId)
    }
  }
  if (!(await isBalanced(scene, hubIds))) found('somebody does not know what he should')
  const { real, keys } = scene
  const partitions = new Set(hubIds.map(keys.partitionOf))
  const left = await Promise.all([...partitions].map((number) => real.zcard(keys.partition(number).newsDue)))
  if (left.some((count) => count > 0)) found('news is never settled')
  const endless = await readEndless(scene)
  if (endless !== undefined) found(`${endless} is never forgotten`)
  return violations
}

type Level = 'critical' | 'warning' | undefined

function levelOf({ warning, critical }: AlertConfig, usage: number): Level {
  if (usage >= critical * 10) return 'critical'
  return usage >= warning * 10 ? 'warning' : undefined
}

function judgeFiring(firing: readonly Alert[], level: Level): string | undefined {
  if (level === undefined) return firing.length === 0 ? undefined : 'what is over is left as firing'
  if (firing.length === 0) return 'what fires is not known to the receiver'
  if (firing.length > 1) return 'what is over is left as firing'
  return firing[0]?.level === level ? undefined : 'the receiver has an older level'
}

/** What came last of each alert. */
function lastOfEach(alerts: readonly Alert[]): Alert[] {
  const newest = (some: Alert[]) => some.toSorted((a, b) => numberOf(b) - numberOf(a)).slice(0, 1)
  return [...Map.groupBy(alerts, alertOf).values()].flatMap(newest)
}

async function readCommittedOf({ real, keys }: Scene, hubId: number): Promise<Alert[]> {
  const partition = keys.partitionOf(hubId)
  const entries = await real.xrange(keys.partition(partition).log, '-', '+')
  return entries
    .map(([, fields]) => decodeEntry(fields[1] ?? '').alert)
    .filter((alert) => alert.account?.hubId === hubId)
}

/** What is made for each group, or delivery, goes by itself one day. */
async function readEndless({ real, keys }: Scene): Promise<string | undefined> {
  const { recent: lately, delivery } = keys.delivery
  for (const prefix of [lately(''), delivery('')]) {
    for (const key of await real.keys(`${prefix}*`)) {
      if ((await real.pttl(key)) === -1) return key.slice(0, prefix.length).replace(/^.*}:|:$/g, '')
    }
  }
  return undefined
}

async function isBalanced({ real, keys, world }: Scene, hubIds: readonly number[]): Promise<boolean> {
  const readOpen = () => readOpenIds(real, keys, hubIds)
  const proof = await proveOutbox({
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
      const refresh = await real.hmgetBuffer(keys.account(hubId).tokens, 'refresh', 'previous')
      const stored = [...refresh, (await readAccess(real, keys, hubId))?.sealed]
      const isOld = stored.some((sealed) => sealed && sealed.length > 0 && keyIdOf(sealed) === OLD_KEY.id)
      return isOld && !isKnown ? [{ what: `a token needs the old key ${rekeyed}`, hubId }] : []
    }),
  )
  return found.flat()
}
