import { setTimeout as pause } from 'node:timers/promises'
import { pollLimits } from '../../jobs/poll-limits.ts'
import { refreshTokens } from '../../jobs/refresh-tokens.ts'
import type { World } from './world.ts'

const never = new AbortController().signal

/** Lets a fleet live for so long by the clock of the test: every `stepMs` what is due is swept, and worked off. */
export async function live(world: World, ms: number, stepMs = 500): Promise<void> {
  const { clock, services } = world
  for (const until = clock.now() + ms; clock.now() < until; clock.move(stepMs)) {
    const refreshes = (await world.sweep('refresh-tokens')).chunks.map((chunk) => refreshTokens(services, chunk, never))
    const polls = (await world.sweep('poll-limits')).chunks.map((chunk) => pollLimits(services, chunk, never))
    await whileMoving(world, Promise.all([...refreshes, ...polls]))
  }
}

/** Work that waits for the clock gets it moved; work that waits for the network does not. */
async function whileMoving({ clock }: World, work: Promise<unknown>): Promise<void> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  while (!isDone) {
    await Promise.race([done, pause(20)])
    if (!isDone) clock.move(20)
  }
  await done
}
