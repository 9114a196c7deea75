import type { Alert } from '../../src/alerts/alert.ts'
import type { AlertConfig } from './alert-parts.ts'
import type { Scene } from './daemon.ts'
import type { Fault } from './faults.ts'
import type { Intent, Intents } from './intents.ts'
import type { Mix } from './mixes.ts'
import type { IssuedToken } from './provider.ts'
import { alertOf, numberOf } from './receiver.ts'
import { NEW_KEY, OLD_KEY } from './rekey-parts.ts'
import { keyIdOf, openRefreshToken } from './stored.ts'

/** What the last step that was to store tokens of an account answered. */
export type StoreAnswers = Map<number, string>

export interface Violation {
  /** What happened, in words that a known one is listed by. */
  what: string
  hubId: number
}

const ENDS_LEASES: ReadonlySet<Fault> = new Set([
  'clock of Redis',
  'clock of Redis hours ahead',
  'failover',
  'time jump',
])
const LOST = 'a refresh token that a living process saw is lost'
const DROPPED = 'an answer newer than what is stored is dropped'

/** What a run knows, beside what Redis and the provider have. */
interface Known {
  scene: Scene
  hubs: readonly number[]
  intents: Intents
  storeAnswers: StoreAnswers
}

/** What must hold once all has come to its end, by the provider's own record. */
export async function judge({ scene, hubs, intents, storeAnswers }: Known, mix: Mix): Promise<Violation[]> {
  const violations: Violation[] = []
  // A claim ends by the clock of Redis, and may be lost with it.
  const isLeased = !mix.faults.some((fault) => ENDS_LEASES.has(fault))
  if (isLeased)
    violations.push(...[...scene.provider.redeemedTwice].map((hubId) => ({ what: 'two refresh one account', hubId })))
  if (scene.world.grantsGivenUpEarly > 0) violations.push({ what: 'an install is given up early', hubId: 0 })
  for (const hubId of hubs) {
    const alive = scene.provider.of(hubId).filter(({ is }) => is === 'alive')
    // An import that Redis refused may be all that there is: the token of its file took the place of those before.
    const isOfFile = alive.length > 0 && !alive.some(wasSeen)
    const isGranted = scene.provider.granted.get(hubId)?.isAlive === true && !isOfFile
    const intent = intents.of(hubId) ?? (isGranted ? 'connected' : undefined)
    const found =
      intent === undefined ? undefined : await judgeAccount(scene, hubId, intent, intents.strange.has(hubId))
    const isDropped = found === LOST && storeAnswers.get(hubId) === 'lost'
    if (found !== undefined) violations.push({ what: isDropped ? DROPPED : found, hubId })
    const isKept = intent === 'connected' && found === undefined && mix.alerts !== true
    const neglected = isKept ? await judgeCare(scene, hubId, mix) : undefined
    if (neglected !== undefined) violations.push({ what: neglected, hubId })
    if ((await scene.stored.installs(hubId)) > (intents.installs.get(hubId) ?? 0))
      violations.push({ what: 'one install is done twice', hubId })
    violations.push(...(await judgeAccess(scene, hubId)))
  }
  return violations
}

/** `isStrange`: a grant of it was dropped, which is not deleted. */
async function judgeAccount(scene: Scene, hubId: number, intent: Intent, isStrange: boolean) {
  const { stored, provider } = scene
  const state = await stored.field(hubId, 'state')
  const isLive = state !== null && state !== 'uninstalling' && state !== 'uninstalled'
  const alive = provider.of(hubId).filter((token) => token.is === 'alive')
  const canBeKnown = alive.filter(wasSeen)
  if (intent === 'uninstalled') {
    if (isLive) return 'an uninstalled account is back'
    if (state !== null) return `an uninstalled account is never forgotten`
    // A grant that was given up stays as it is.
    const isExcused = isStrange || scene.world.grantsGivenUp > 0
    return canBeKnown.length > 0 && !isExcused ? 'a refresh token is left alive after the uninstall' : undefined
  }
  if (!isLive && state === null && scene.world.grantsGivenUp > 0) return undefined
  if (!isLive) return state === null ? 'a grant is stored nowhere' : 'a connected account is gone'
  if (alive.length === 0) {
    return provider.of(hubId).at(-1)?.is === 'deleted' ? 'the new grant is deleted' : undefined
  }
  // Those before are tried where the last one is refused.
  const kept = await keptTokens(scene, hubId)
  if (kept.some(({ is }) => is === 'alive') || canBeKnown.length === 0) return undefined
  return scene.world.grantsGivenUp > 0 ? undefined : LOST
}

/** An account whose refresh token is good has an access token, and is refreshed before that ends. */
async function judgeCare(scene: Scene, hubId: number, { faults }: Mix): Promise<string | undefined> {
  const { stored, world } = scene
  if (!(await keptTokens(scene, hubId)).some(({ is }) => is === 'alive')) return undefined
  const expiresAt = Number(await stored.field(hubId, 'expiresAt'))
  if ((await stored.field(hubId, 'state')) === 'reauthorize') {
    // A token that was refused twice, and others not, is given up.
    return faults.includes('provider refuses') ? undefined : 'an account is given up whose token is good'
  }
  // A token of a clock that was ahead is over before its time.
  if (Number(await stored.field(hubId, 'obtainedAt')) > world.now) return 'a token is as old as a wrong clock says'
  if (expiresAt <= world.now) return 'a token is over, and nobody refreshes it'
  return (await stored.dueAt(hubId, 'refresh')) < expiresAt ? undefined : 'the next refresh comes too late'
}

/** What is known with the access token is what the record has, and nothing gives one out that is over. */
export async function judgeAccess({ stored }: Scene, hubId: number): Promise<Violation[]> {
  const access = await stored.access(hubId)
  if (access === undefined) return []
  const state = await stored.field(hubId, 'state')
  if (state === null || state === 'uninstalling' || state === 'uninstalled')
    return [{ what: 'an access token is left behind', hubId }]
  const isTrue = access.facts === (await stored.factsOfRecord(hubId))
  return isTrue ? [] : [{ what: 'an access token is stored with what is not true of it', hubId }]
}

/** Of a token that only processes saw that were killed nobody can take care. */
function wasSeen(token: IssuedToken): boolean {
  return token.seenBy.some(({ isAlive, endedWell }) => isAlive || endedWell)
}

export async function keptTokens({ stored, provider }: Scene, hubId: number): Promise<IssuedToken[]> {
  const names = (await stored.refreshTokens(hubId)).map((sealed) => openRefreshToken(sealed, hubId, [OLD_KEY, NEW_KEY]))
  return names.flatMap((name) => provider.issued.get(name ?? '') ?? [])
}

/** What must hold of alerts once all has come to its end, by the record of each receiver. */
export async function judgeAlerts(scene: Scene, hubIds: readonly number[], mix: Mix): Promise<Violation[]> {
  const violations: Violation[] = []
  const found = (what: string, hubId = 0) => violations.push({ what, hubId })
  const { stored } = scene
  for (const { name, got, outOfOrder, endless, withheld, isUsedClosed } of scene.receivers.values()) {
    if (isUsedClosed) found('a message is sent over a connection that is closed')
    const alerts = [...got.values()].flat()
    const named = new Set(alerts.flatMap(({ id, supersedes = [] }) => [id, ...supersedes]))
    // Where it was lost that something was told, it is told again.
    const isTwice = new Set(alerts.map(({ id }) => id)).size < alerts.length
    if (isTwice && mix.loses !== true) found('what was committed is told twice')
    if (outOfOrder.length > 0 && mix.loses !== true) found('an older transition comes after a newer one')
    // One whose beginning came later is out of order.
    const begun = new Set(alerts.filter(({ status }) => status === 'firing').map(alertOf))
    if (endless.some((alert) => !begun.has(alert))) found('an end comes without a beginning')
    const last = lastOfEach(alerts)
    const told = await stored.told(name)
    for (const alert of last) {
      const isOver = told.get(alertOf(alert))?.isOver === true
      if (alert.status === 'firing' && isOver) found('an alert counts as over that the receiver has as firing')
      if (alert.status === 'resolved' && !isOver) found('an alert counts as firing that the receiver has as over')
    }
    for (const hubId of hubIds) {
      const isOwn = ({ kind, account }: Alert) => kind === 'limit' && account?.hubId === hubId
      const firing = last.filter((alert) => isOwn(alert) && alert.status === 'firing')
      const isGone = (await stored.field(hubId, 'state')) === null
      const usage = isGone ? 0 : (scene.provider.usage.get(hubId) ?? 0)
      const wrong = judgeFiring(firing, levelOf(scene.config.alerts, usage))
      if (wrong !== undefined) found(wrong, hubId)
      const isLost = (id: string) => !named.has(id) && numberOf({ id }) > (withheld.get(alertOf({ id })) ?? 0)
      if ((await stored.committed(hubId)).some(isLost)) found('what was committed is never told', hubId)
    }
  }
  for (const name of await stored.unsettled()) found(`something stays in ${name}`)
  const endless = await stored.endless()
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

/**
 * Whether all that is stored of an account opens without the old key, or the old key is known to be in use: then no daemon
 * starts without it.
 */
export async function judgeKeys({ stored }: Scene, hubIds: readonly number[], rekeyed: string): Promise<Violation[]> {
  if (await stored.isUsed(OLD_KEY.id)) return []
  const found = hubIds.map(async (hubId) => {
    const access = await stored.access(hubId)
    const sealed = [...(await stored.refreshTokens(hubId)), ...(access === undefined ? [] : [access.sealed])]
    const isOld = sealed.some((one) => one.length > 0 && keyIdOf(one) === OLD_KEY.id)
    return isOld ? [{ what: `a token needs the old key ${rekeyed}`, hubId }] : []
  })
  return (await Promise.all(found)).flat()
}
