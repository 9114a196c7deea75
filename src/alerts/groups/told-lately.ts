import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import type { Alert } from '../alert.ts'
import { toldAs } from './compose-group.ts'
import type { GroupSettings } from './group.ts'
import { hurries, type ToldLately } from './pace.ts'

/** What the groups told lately, as far as it matters to how soon they close: of alerts that would make them hurry. */
export async function readToldLately(
  { store, keys, group }: { store: Store; keys: Keys; group: GroupSettings },
  wanted: readonly { key: string; alert: Alert }[],
  now: number,
): Promise<(key: string, alert: Alert) => ToldLately> {
  const found = new Map<string, ToldLately>()
  const worse = wanted.filter(({ alert }) => hurries(alert))
  await Promise.all(
    [...Map.groupBy(worse, ({ key }) => key)].map(async ([key, some]) => {
      const as = some.map(({ alert }) => toldAs(alert))
      const [times, hurried] = await Promise.all([
        store.zmscore(keys.delivery.groupTold(key), ...as),
        store.hget(keys.delivery.groupState(key), 'hurried'),
      ])
      for (const [n, what] of as.entries()) {
        const at = times[n]
        const sameLevel = at != null && now - Number(at) < group.intervalMs
        found.set(`${key}|${what}`, { sameLevel, hurried: Number(hurried ?? 0) })
      }
    }),
  )
  return (key, alert) => found.get(`${key}|${toldAs(alert)}`) ?? { sameLevel: false, hurried: 0 }
}
