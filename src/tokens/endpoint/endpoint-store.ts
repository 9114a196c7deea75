import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { type AlertWrites, accountStepKeys, NOBODY, stepJson } from '../../redis/steps.ts'
import type { EndpointState } from './state.ts'

/** The endpoint's state in Redis: read, and changed only if it still is as it was read. */
export class EndpointStore {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /** '' = there is none yet. */
  async read(): Promise<string> {
    return (await this.#store.get(this.#keys.endpoint)) ?? ''
  }

  /** States of the fleet's alerts as they stand, for a state that was lost and must not forget what is open. */
  async openAlerts(): Promise<EndpointState['alerts']> {
    const { alerts } = this.#keys.account(NOBODY)
    const [endpoint, clock] = await this.#store.hmget(alerts, 'token-endpoint', 'clock')
    return { 'token-endpoint': endpoint ?? '', clock: clock ?? '' }
  }

  /** Undefined when it was changed; else the state that somebody else wrote meanwhile. */
  async change(before: string, after: string, alerts: AlertWrites): Promise<string | undefined> {
    const found = await this.#store.changeEndpoint(
      ...accountStepKeys(this.#keys, NOBODY),
      ...[this.#keys.endpoint, before, after, stepJson(alerts)],
    )
    return found === null ? undefined : found
  }
}
