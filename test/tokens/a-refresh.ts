import type { ProviderClient } from '../../src/provider/client.ts'
import type { SeededAccount } from '../support/accounts.ts'
import { slowAnswer } from '../support/fake-provider.ts'
import { type WorldOptions, worldOfFile } from '../support/world.ts'

export type Refresh = ProviderClient['refresh']
export type Answered = Awaited<ReturnType<Refresh>>

export const MINUTE = 60_000
export const DAY = 24 * 60 * MINUTE
/** Of an access token; it is due after three fifths, and in any case after 25 minutes. */
export const LIFE = 30 * MINUTE

/** Accounts whose refresh a test has in hand; to be called at the top of its file. */
export function refreshesOfFile() {
  const world = worldOfFile()
  /** Connected just now. */
  const connected = async (refresh: Refresh, account: Partial<SeededAccount> = {}, options: WorldOptions = {}) => {
    const w = await world({ ...options, provider: { refresh } })
    return { ...w, ...(await w.account(account)), connectedAt: w.clock.now() }
  }
  const due = async (refresh: Refresh, options: WorldOptions = {}) => {
    const w = await connected(refresh, {}, options)
    w.clock.move(25 * MINUTE)
    return w
  }
  /** The provider has been asked; `answer` is what it says. */
  const underWay = async (options: WorldOptions = {}) => {
    const slow = slowAnswer()
    const w = await due(slow.refresh, options)
    const refreshing = w.refresh()
    await slow.asked
    return { ...w, refreshing, answer: slow.answer }
  }
  return { connected, due, underWay }
}
