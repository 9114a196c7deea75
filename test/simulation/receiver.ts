import type { Alert } from '../../src/alerts/alert.ts'
import type { AttemptOutcome, Receiver } from '../../src/delivery/receiver.ts'
import type { Process, World } from './world.ts'

/** A transition is named by its alert and its number. */
export function alertOf({ id }: Pick<Alert, 'id'>): string {
  return id.replace(/-\d+$/, '')
}

export function numberOf({ id }: Pick<Alert, 'id'>): number {
  return Number(/-(\d+)$/.exec(id)?.[1] ?? 1)
}

/** What a receiver answers for a while. */
export type ReceiverMood = 'well' | 'away' | 'busy' | 'gone'

const ANSWERS: Record<ReceiverMood, AttemptOutcome> = {
  well: { outcome: 'delivered' },
  away: { outcome: 'retry', reason: 'at fault', answer: 503 },
  busy: { outcome: 'retry', reason: 'too much', answer: 429, retryAfterMs: 90_000 },
  gone: { outcome: 'disable', reason: 'gone', answer: 410 },
}
const BROKEN: AttemptOutcome = { outcome: 'retry', reason: 'the connection broke' }
/** A webhook is given no longer. */
const LONGEST_MS = 30_000

/** Stands in for who gets the alerts, and keeps a record of its own. */
export class StandInReceiver {
  readonly name: string
  /** Each message once, in the order in which they came: a copy is known by its id. */
  readonly got = new Map<string, Alert[]>()
  /** Alerts of which an older transition came after a newer one. */
  readonly outOfOrder: string[] = []
  /** Alerts that were kept from it for good, each up to the number of a transition. */
  readonly withheld = new Map<string, number>()
  /** Alerts of which it was sent the end, and never the beginning. */
  readonly endless: string[] = []
  mood: ReceiverMood = 'well'
  /** Where it is now: at those from before nobody is any more. */
  address = 1
  /** Was asked to send by a daemon that had closed its connections. */
  isUsedClosed = false
  readonly #newest = new Map<string, number>()

  constructor(name: string) {
    this.name = name
  }

  /** As a process sees it that has the address of now. */
  clientFor(world: World, process: Process): Receiver {
    const { name, address } = this
    let isOpen = true
    return {
      name,
      type: 'webhook',
      address: `${name} ${address}`,
      close: async () => {
        isOpen = false
      },
      send: async ({ id, message }) => {
        this.isUsedClosed ||= !isOpen
        const age = process.clock.stopwatch()
        const answer = await world.ask(process, 'provider', `send ${name} ${id}`, async () => {
          if (age() > LONGEST_MS) return { ok: true, outcome: BROKEN }
          if (address !== this.address) return { ok: true, outcome: ANSWERS.gone }
          if (this.mood === 'well') this.#take(id, message.data.alerts)
          return { ok: true, outcome: ANSWERS[this.mood] }
        })
        return answer.ok ? answer.outcome : BROKEN
      },
    }
  }

  #take(id: string, alerts: Alert[]): void {
    if (this.got.has(id)) return
    this.got.set(id, alerts)
    for (const alert of alerts) {
      const [name, number] = [alertOf(alert), numberOf(alert)]
      const before = this.#newest.get(name)
      // One message may say both.
      if (before === undefined && alert.status === 'resolved' && alert.supersedes === undefined) this.endless.push(name)
      if (number < (before ?? 0)) this.outOfOrder.push(alert.id)
      else this.#newest.set(name, number)
    }
  }
}
