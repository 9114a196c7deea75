import { DaemonStore, isSilent } from '../heartbeat/daemons.ts'
import { checkFormat, OLDEST_FORMAT } from '../redis/format.ts'
import { UPGRADES, type Upgrade } from '../redis/upgrades.ts'
import { freshBytes } from '../runtime/fresh-bytes.ts'
import type { Resources } from './resources.ts'

type Parts = Pick<Resources, 'store' | 'keys' | 'clock' | 'log'>

/** A daemon that dies at it leaves it to another one after so long. */
const LOCK_MS = 30_000
const RENEW_EVERY_MS = 5_000
const CHECK_EVERY_MS = 1_000

/**
 * Brings what an older version stored up to date, one format after the other: by one daemon, while the others wait. Done before
 * a daemon reports that it runs, so that all that do so until then are of the older version. Throws FormatError.
 */
export async function bringUpToDate(parts: Parts, upgrades: readonly Upgrade[] = UPGRADES): Promise<void> {
  const { store, keys, clock } = parts
  for (;;) {
    await checkFormat(store, keys, 'daemon', OLDEST_FORMAT + upgrades.length)
    const next = upgrades[Number(await store.get(keys.format)) - OLDEST_FORMAT]
    if (next === undefined) return
    await olderDaemonsGone(parts)
    if (!(await underLock(parts, () => runNext(parts, upgrades)))) await clock.wait(CHECK_EVERY_MS)
  }
}

/** Under the lock, because another daemon may have done the one that was due a moment ago. */
async function runNext({ store, keys, log }: Parts, upgrades: readonly Upgrade[]): Promise<void> {
  const format = Number(await store.get(keys.format))
  const upgrade = upgrades[format - OLDEST_FORMAT]
  if (upgrade === undefined) return
  await upgrade.run(store, keys)
  await store.set(keys.format, format + 1)
  log.info(
    { code: 'data.upgraded', format: format + 1 },
    `the data of an older version was brought up to date: ${upgrade.what}`,
  )
}

/** A daemon of the older version would write in the old form what was just brought up to date. */
async function olderDaemonsGone({ store, keys, clock, log }: Parts): Promise<void> {
  const daemons = new DaemonStore(store, keys)
  for (let isFirst = true; ; isFirst = false) {
    const running = (await daemons.read()).filter((daemon) => !isSilent(daemon, clock.now())).map(({ name }) => name)
    if (running.length === 0) return
    if (isFirst) {
      const waiting = `daemons of an older version run: stop them, so that its data can be brought up to date (${running.join(', ')})`
      log.warn({ code: 'data.older-daemons', daemons: running }, waiting)
    }
    await clock.wait(CHECK_EVERY_MS)
  }
}

/** False where another daemon has it. */
async function underLock({ store, keys, clock }: Parts, work: () => Promise<void>): Promise<boolean> {
  const owner = freshBytes(12).toString('base64url')
  if ((await store.set(keys.upgrading, owner, 'PX', LOCK_MS, 'NX')) === null) return false
  const endRenewing = clock.every(RENEW_EVERY_MS, async () => {
    // The next try comes long before the lock ends.
    await store.holdLock(keys.upgrading, owner, LOCK_MS).catch(() => undefined)
  })
  try {
    await work()
  } finally {
    endRenewing()
    await store.holdLock(keys.upgrading, owner, 0)
  }
  return true
}
