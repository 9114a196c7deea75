import type { Store } from './connect.ts'
import type { Keys } from './keys.ts'
import { type AlertWrites, accountStepKeys, NO_ALERT_WRITES, NOBODY, stepJson } from './steps.ts'

export interface SharedTextDeps {
  /** '' = there is none yet. */
  read(): Promise<string>
  /** Writes it if it still is `before`, together with the alerts. Null when that is done; else the text that was found. */
  replace(before: string, after: string, alerts: AlertWrites): Promise<string | null>
}

export interface Decided<Result> {
  after: string
  alerts?: AlertWrites
  result: Result
}

/** One text in Redis that all daemons decide on: it is written only as long as it is as it was read. */
export class SharedText {
  readonly #deps: SharedTextDeps
  /** As this daemon last saw it: nearly always it still is. */
  #known: string | undefined

  constructor(deps: SharedTextDeps) {
    this.#deps = deps
  }

  read(): Promise<string> {
    return this.#deps.read()
  }

  /** `decide` is asked again as often as another daemon was faster. */
  async change<Result>(decide: (stored: string) => Decided<Result> | Promise<Decided<Result>>): Promise<Result> {
    let stored = this.#known ?? (await this.#deps.read())
    for (;;) {
      const { after, alerts = NO_ALERT_WRITES, result } = await decide(stored)
      const found = await this.#deps.replace(stored, after, alerts)
      if (found === null) {
        this.#known = after
        return result
      }
      stored = found
    }
  }
}

/** What all daemons know of the token endpoint; the alerts are those about all accounts. */
export function endpointText(store: Store, keys: Keys): SharedText {
  const stepKeys = [...accountStepKeys(keys, NOBODY), keys.endpoint]
  return new SharedText({
    read: async () => (await store.get(keys.endpoint)) ?? '',
    replace: (before, after, alerts) => store.changeEndpoint(...stepKeys, before, after, stepJson(alerts)),
  })
}

/** A budget that no poll touched for so long is full again: nothing is lost with it. */
const BUDGET_KEPT_MS = 2 * 3_600_000

/** What is left of the calls to the limits endpoints. */
export function pollBudgetText(store: Store, keys: Keys): SharedText {
  return new SharedText({
    read: async () => (await store.get(keys.pollBudget)) ?? '',
    replace: (before, after) => store.changePollBudget(keys.pollBudget, before, after, BUDGET_KEPT_MS),
  })
}
