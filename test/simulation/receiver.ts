import type { Alert } from '../../src/alerts/alert.ts'
import type { AttemptOutcome, Receiver } from '../../src/delivery/receiver.ts'
import type { Process, World } from './world.ts'

const BROKEN: AttemptOutcome = { outcome: 'retry', reason: 'the connection broke' }

/** Stands in for who gets the alerts, and keeps a record of its own. */
export class StandInReceiver {
  /** Each message once, in the order in which they came: a copy is known by its id. */
  readonly got = new Map<string, Alert[]>()

  /** As a process sees it. */
  clientFor(world: World, process: Process, name: string): Receiver {
    return {
      ...{ name, type: 'webhook', close: async () => undefined },
      send: async ({ id, message }) => {
        const answer = await world.ask(process, 'provider', `send ${id}`, async () => {
          if (!this.got.has(id)) this.got.set(id, message.data.alerts)
          return { ok: true }
        })
        return answer.ok ? { outcome: 'delivered' } : BROKEN
      },
    }
  }
}
