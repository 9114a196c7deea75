import { setTimeout as pause } from 'node:timers/promises'
import type { World } from './world.ts'

/** Lets a fleet live for so long by the clock of the test: every `stepMs` what is due is swept, and worked off. */
export async function live(world: World, ms: number, stepMs = 500): Promise<void> {
  const { clock } = world
  for (const until = clock.now() + ms; clock.now() < until; clock.move(stepMs)) {
    await whileMoving(world, Promise.all([world.work('refresh-tokens'), world.work('poll-limits')]))
  }
}

/** Work that waits for the clock gets it moved; work that waits for the network does not. */
export async function whileMoving<T>({ clock }: Pick<World, 'clock'>, work: Promise<T>): Promise<T> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  while (!isDone) {
    await Promise.race([done, pause(20)])
    if (!isDone) clock.move(20)
  }
  return done
}
