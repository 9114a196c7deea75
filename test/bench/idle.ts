import { setTimeout as pause } from 'node:timers/promises'
import { startProcess } from '../support/child-process.ts'
import { lifeUntilDue, shareOfLife } from '../support/many-accounts.ts'
import { cpuSecondsOf, residentMiBOf } from '../support/process-cost.ts'
import { startWholeDaemon } from '../support/whole-daemon.ts'
import type { Figure } from './figure.ts'
import { LIFE_MS, seedPlanned, settingsFor } from './ours.ts'
import { startFarSide } from './side.ts'

const ACCOUNTS = 1_000
const POLL_MS = 900_000
/** In its first minute a daemon costs twice as much: what is done every few seconds is not compiled yet. */
const SETTLED_AFTER_MS = 75_000
const WATCHED_MS = 20_000
const PEER = 'the least that a daemon on BullMQ can be'

/** P10: a daemon while nothing happens, without its Redis: 1,000 accounts, tokens of 30 minutes, a poll every 15 minutes. */
export const idle: Figure = {
  rows: [
    { id: 'P10', what: 'idle daemon, 1,000 accounts; lower is better', unit: '% of a core', value: 0, against: PEER },
    { id: 'P10', what: 'the same', unit: 'resident MiB', value: 1, against: PEER },
  ],
  // One long round: some sweeps come twice a minute.
  rounds: 1,
  open: async () => {
    const farSide = await startFarSide({ changed: 0 })
    const begun = Date.now()
    // As after some hours of work: each at another moment of its turn.
    const turn = (place: number) => {
      const left = 1 - place / ACCOUNTS
      const life = lifeUntilDue(place, begun + left * shareOfLife(place) * LIFE_MS, LIFE_MS)
      return { ...life, pollAt: Math.round(begun + left * POLL_MS) }
    }
    const daemon = await startWholeDaemon(farSide.firstLine, SETTINGS, {
      seed: (store, keys) => seedPlanned(store, keys, ACCOUNTS, turn),
    })
    const peer = await startProcess(new URL('idle-peer.ts', import.meta.url), [daemon.redisUrl])
    await pause(SETTLED_AFTER_MS)
    // Both are watched in the same seconds.
    const watched = Promise.all([watch(daemon.pid), watch(peer.pid)])
    return {
      ours: async () => (await watched)[0],
      references: { [PEER]: async () => (await watched)[1] },
      close: async () => {
        await peer.stop()
        await daemon.close()
        await farSide.stop()
      },
    }
  },
}

const SETTINGS = {
  ...settingsFor(64),
  limits: { ...settingsFor(64).limits, every: '15m', soonest: '1m' },
  // As the config has it where it does not say.
  schedule: { refreshTokens: '*/10 * * * * *', pollLimits: '*/15 * * * * *' },
}

async function watch(pid: number): Promise<number[]> {
  const [before, from] = [cpuSecondsOf(pid), performance.now()]
  await pause(WATCHED_MS)
  const seconds = (performance.now() - from) / 1_000
  return [((cpuSecondsOf(pid) - before) / seconds) * 100, residentMiBOf(pid)]
}
