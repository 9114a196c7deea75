import { setTimeout as pause } from 'node:timers/promises'
import { MAIN } from '../support/main.ts'
import type { Figure } from './figure.ts'
import { type IdleScene, openIdleScene } from './idle-scene.ts'
import { cpuSecondsOf, residentMiBOf } from './process-cost.ts'

/**
 * By then the start is over, all that it left behind is gone, and what is done every few seconds is compiled: a daemon is
 * idle for months. In its first half minute it costs twice as much.
 */
const SETTLED_AFTER_MS = 75_000
const WATCHED_MS = 20_000

/**
 * P10: what a daemon costs while nothing happens: 1,000 accounts with tokens of 30 minutes that rotate, polled every 15
 * minutes, none near a limit. The daemon as users run it, from `dist/`; Redis is not in it. Against
 * the least that a daemon on BullMQ can be, in the same seconds.
 */
export const idle: Figure = {
  id: 'P10',
  // One long look: some sweeps come twice a minute.
  rounds: 1,
  rows: [
    {
      ...{ what: 'idle daemon with 1,000 accounts; lower is better', unit: '% of a core' },
      goal: { of: 'ours', atMost: 0.7 },
    },
    { what: 'the same', unit: 'resident MiB', goal: { of: 'ours', atMost: 125 } },
  ],
  open: async () => {
    const scene = await openIdleScene(MAIN)
    await pause(SETTLED_AFTER_MS)
    // One look for both: they share the machine's seconds.
    let watched: ReturnType<typeof watch> | undefined
    const look = () => {
      watched ??= watch(scene)
      return watched
    }
    return {
      ours: async () => (await look()).ours,
      reference: async () => (await look()).reference,
      close: scene.close,
    }
  },
}

async function watch({ daemon, peer }: IdleScene): Promise<{ ours: number[]; reference: number[] }> {
  const spent = () => [cpuSecondsOf(daemon), cpuSecondsOf(peer)] as const
  const [before, peersBefore] = spent()
  const from = performance.now()
  await pause(WATCHED_MS)
  const [after, peersAfter] = spent()
  const percent = (cpuSeconds: number) => (cpuSeconds * 100_000) / (performance.now() - from)
  return {
    ours: [percent(after - before), residentMiBOf(daemon)],
    reference: [percent(peersAfter - peersBefore), residentMiBOf(peer)],
  }
}
