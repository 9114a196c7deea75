import { expect, type TestContext } from 'vitest'
import type { SandboxOptions } from '../../../src/sandbox/sandbox.ts'
import type { Daemon } from '../../support/daemon.ts'
import { ask, connectAll, eventually, hubIdsOf, journalOf } from '../../support/fleet.ts'
import { lookInto } from '../../support/look-into.ts'
import { pauses, type Scene, sceneFor } from '../../support/scene.ts'

export const LIFE_MS = 30_000

/** From 20 % to 40 % of a life: whoever can do nothing for half of it is in time after that, on a busy machine too. */
export const EARLY = { tokens: { refreshFrom: '20%', refreshBy: '40%' }, limits: { every: '2s' } }

export interface FleetAtWork extends ReturnType<typeof lookInto> {
  scene: Scene
  hubIds: number[]
  daemon: Daemon
  /** All accounts are active with a token that works, nobody redeemed a token twice, no token expired. */
  expectUnhurt(daemons?: readonly Daemon[]): Promise<void>
  /** Waits until each account was refreshed after a moment. */
  worksSince(moment: number): Promise<void>
}

/** Ten accounts whose refresh tokens rotate, of which one daemon keeps the tokens: connected, refreshed and polled. */
export async function fleetAtWork(
  context: Pick<TestContext, 'onTestFinished'>,
  start: (scene: Scene) => Promise<Daemon> = (scene) => scene.daemon(EARLY),
  options: Partial<SandboxOptions> = {},
): Promise<FleetAtWork> {
  const lifeMs = options.tokenLifetimeMs ?? LIFE_MS
  const scene = await sceneFor(context, { accounts: 10, ...options, tokenLifetimeMs: lifeMs })
  const look = lookInto(() => scene)
  const daemon = await start(scene)
  const hubIds = await hubIdsOf(scene.sandbox.url)
  await connectAll(daemon.url, hubIds)
  // From here on refresh tokens are known to rotate.
  await look.allRefreshed(hubIds)
  return {
    ...look,
    scene,
    hubIds,
    daemon,
    // Polls are not waited for: those that could not be noted come again when their claims end, within a minute.
    worksSince: async (moment) => {
      await look.refreshedSince(hubIds, moment)
    },
    expectUnhurt: async (daemons = [daemon]) => {
      const journal = await journalOf(scene.sandbox.url)
      expect(journal.filter(({ status }) => status >= 400)).toEqual([])
      expect(daemons.flatMap(({ lines }) => lines.filter((line) => line.includes('"token.expired"')))).toEqual([])
      expect(pauses(journal, Date.now()).longest).toBeLessThan(lifeMs)
      expect(await look.statesOf(daemons[0] as Daemon)).toEqual({ active: hubIds.length })
    },
  }
}

/** What /readyz says: its status, and the checks that do not hold. */
export async function readiness({ url }: Daemon): Promise<{ status: number; failing: Record<string, string> }> {
  const response = await ask(`${url}/readyz`)
  const { checks } = (await response.json()) as { checks: { name: string; ok: boolean; detail: string }[] }
  const failing = checks.filter(({ ok }) => !ok).map(({ name, detail }) => [name, detail] as const)
  return { status: response.status, failing: Object.fromEntries(failing) }
}

export function isReady(daemon: Daemon): Promise<unknown> {
  return eventually('ready again', async () => (await readiness(daemon)).status === 200)
}
