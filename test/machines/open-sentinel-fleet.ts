import type { Daemon } from '../support/daemon.ts'
import { connectAll, hubIdsOf } from '../support/fleet.ts'
import { startRedisSentinels, type TestSentinels } from '../support/redis-sentinel.ts'
import { type Fleet, openFleet } from './open-fleet.ts'

/** A fleet whose accounts are all connected, on a master with a replica that sentinels watch over. */
export interface SentinelFleet {
  readonly sentinels: TestSentinels
  readonly fleet: Fleet
  readonly daemon: Daemon
  readonly hubIds: number[]
  close(): Promise<void>
}

export async function openSentinelFleet(options: {
  accounts: number
  tokenLifetimeMs: number
  rotateRefreshTokens: boolean
}): Promise<SentinelFleet> {
  const sentinels = await startRedisSentinels()
  const fleet = await openFleet({ sentinels: sentinels.addresses, name: sentinels.name }, options).catch(
    async (error: unknown) => {
      await sentinels.stop()
      throw error
    },
  )
  const close = async () => {
    await fleet.close()
    await sentinels.stop()
  }
  try {
    const daemon = await fleet.daemon()
    const hubIds = await hubIdsOf(fleet.sandbox.url)
    await connectAll(daemon.url, hubIds)
    return { sentinels, fleet, daemon, hubIds, close }
  } catch (error) {
    await close()
    throw error
  }
}
