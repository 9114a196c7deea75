import type { Clock } from '../runtime/clock.ts'
import { type OneUnderWay, UnderWay } from '../runtime/under-way.ts'

/** Leases are renewed so many times as often as the shortest of them would end: twice in vain, and it is held still. */
const TIMES_AS_OFTEN = 3

export interface LeaseStore {
  /** False: another worker has it, or none has. */
  renewLease(lease: Pick<Lease, 'hubId' | 'owner' | 'ms'>): Promise<boolean>
}

/**
 * The right to refresh one account, held by one worker at a time. It is short, so that a dead worker's ends while there
 * is still time to refresh, and renewed while a slow answer is waited for. Losing it is no disaster: every write is
 * checked against the version of the tokens.
 */
export class Lease implements OneUnderWay<Lease> {
  before: Lease | undefined
  after: Lease | undefined
  readonly hubId: number
  readonly owner: string
  readonly #clock: Clock
  /** How long it lasts, once that is known. */
  ms = 0
  /** When it was asked for, by the steady clock. */
  #at: number
  #isLost = false

  /** To be made before it is asked for. */
  constructor(hubId: number, owner: string, clock: Clock) {
    this.hubId = hubId
    this.owner = owner
    this.#clock = clock
    this.#at = clock.steady()
  }

  /** True while it is sure to be held: false once it was lost, or could not be renewed in time. */
  isHeld(): boolean {
    return !this.#isLost && this.#clock.steady() - this.#at < this.ms
  }

  async renew(store: LeaseStore): Promise<void> {
    const at = this.#clock.steady()
    // Redis may be away: then nothing is known, and it ends when it would have.
    const renewed = await store.renewLease(this).catch(() => undefined)
    if (renewed === true) this.#at = at
    if (renewed === false) this.#isLost = true
  }
}

/** The leases of one job: they are renewed together, until each is ended. */
export class Leases {
  readonly #store: LeaseStore
  readonly #clock: Clock
  readonly #kept = new UnderWay<Lease>()
  #everyMs = Number.POSITIVE_INFINITY
  #endRenewing = () => {}

  constructor(store: LeaseStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  keep(lease: Lease): void {
    this.#kept.add(lease)
    const everyMs = lease.ms / TIMES_AS_OFTEN
    if (everyMs >= this.#everyMs) return
    this.#endRenewing()
    // The others have waited for a part of their time: where one shorter lease came after another, none of them was ever renewed.
    if (this.#kept.size > 1) void this.#renew()
    this.#everyMs = everyMs
    this.#endRenewing = this.#clock.every(everyMs, () => this.#renew())
  }

  async #renew(): Promise<void> {
    await Promise.all([...this.#kept].map((one) => one.renew(this.#store)))
  }

  /** Renews it no more. */
  end(lease: Lease): void {
    this.#kept.delete(lease)
    if (this.#kept.size > 0) return
    this.#endRenewing()
    this.#everyMs = Number.POSITIVE_INFINITY
  }
}
