import { type Alert, alertOf } from '../../src/alerts/alert.ts'
import { readOpenIds } from '../../src/alerts/open-alerts.ts'
import { decodeEntry } from '../../src/alerts/outbox.ts'
import { verifyOutbox } from '../../src/views/verify-outbox.ts'
import type { Scene } from './daemon.ts'
import type { Violation } from './judge.ts'
import { askedForUsed } from './partitions.ts'

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
