import { Turns } from '../../jobs/deliver.ts'
import { ClockWatch } from '../runtime/clock.ts'
import { atInterval, InFlight } from '../runtime/concurrency.ts'
import { sealAnswers } from '../tokens/sealed-answers.ts'
import { Unstored } from '../tokens/unstored.ts'
import type { Parts } from './parts.ts'

/** Of the connections to the provider, those that polls may not take, but no more than a quarter. */
const KEPT_FOR_TOKENS = 16
const SEAL_EVERY_MS = 1_000

/** What the jobs of this process have in common, whichever config each of them works by. */
export type SharedServices = ReturnType<typeof createSharedServices>

export function createSharedServices({ config, clock, vault, log, lifecycle }: Parts) {
  const { connections } = config.provider
  const unstored = new Unstored((answers) => sealAnswers({ vault, log }, config.dataDir, answers))
  const endSealing = atInterval(async () => unstored.sealOverdue({ clock, log }), SEAL_EVERY_MS)
  lifecycle.onClose('the sweep of answers that Redis has not taken', async () => endSealing())
  return {
    startedAt: clock.now(),
    inFlight: new InFlight(connections, Math.min(KEPT_FOR_TOKENS, Math.ceil(connections / 4))),
    unstored,
    clockWatch: new ClockWatch(clock, () => performance.now()),
    turns: new Turns(),
  }
}
