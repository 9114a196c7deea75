import type { Clock } from '../runtime/clock.ts'
import {
  associationReport,
  customPropertyReport,
  emptyAssociationReport,
  REPORTED_PAIRS,
  type Scenario,
} from './scenario.ts'

/** Reports of a moving scenario change at most this often, so that each is written out once and served many times. */
const TICK_MS = 500

const EMPTY_ASSOCIATION_REPORT = JSON.stringify(emptyAssociationReport())

export interface AssociationTotals {
  readonly from: string
  readonly to: string
  readonly hasRecordsAtLimit: boolean
  readonly hasRecordsNearLimit: boolean
}

interface Written {
  readonly tick: number
  readonly text: string
}

/** The reports that accounts answer with, as JSON text: the scenario's, or those that were put in their place. */
export class Reports {
  readonly #scenario: Scenario
  readonly #clock: Clock
  readonly #startedAt: number
  readonly #put = new Map<number, { customProperties?: string; associations: Map<string, string> }>()
  readonly #written = new Map<string, Written>()

  constructor(scenario: Scenario, clock: Clock) {
    this.#scenario = scenario
    this.#clock = clock
    this.#startedAt = clock.now()
  }

  customProperties(hubId: number): string {
    const put = this.#put.get(hubId)?.customProperties
    if (put !== undefined) return put
    return this.#write(`${hubId}`, (elapsedMs) => customPropertyReport(this.#scenario, hubId, elapsedMs))
  }

  associations(hubId: number, from: string, to: string): string {
    const pair = `${from}/${to}`
    const put = this.#put.get(hubId)?.associations.get(pair)
    if (put !== undefined) return put
    // A client can ask for any pair: those without a report must not fill the memory.
    if (!REPORTED_PAIRS.some(([ours, theirs]) => ours === from && theirs === to)) return EMPTY_ASSOCIATION_REPORT
    const report = (elapsedMs: number) => associationReport(this.#scenario, hubId, { from, to }, elapsedMs)
    return this.#write(`${hubId}/${pair}`, report)
  }

  /** From now on the account answers with exactly this text. */
  putCustomProperties(hubId: number, text: string): void {
    this.#putOf(hubId).customProperties = text
  }

  putAssociations(hubId: number, from: string, to: string, text: string): void {
    this.#putOf(hubId).associations.set(`${from}/${to}`, text)
  }

  /** The pairs of object types that have records at or near their limit just now. */
  busyPairs(hubId: number): AssociationTotals[] {
    const names = new Set(REPORTED_PAIRS.map(([from, to]) => `${from}/${to}`))
    for (const name of this.#put.get(hubId)?.associations.keys() ?? []) names.add(name)
    return [...names]
      .map((name) => {
        const [from = '', to = ''] = name.split('/')
        const report = JSON.parse(this.associations(hubId, from, to)) as Record<string, unknown>
        return {
          from,
          to,
          hasRecordsAtLimit: Number(report.totalRecordsAtLimit) > 0,
          hasRecordsNearLimit: Number(report.totalRecordsNearLimit) > 0,
        }
      })
      .filter(({ hasRecordsAtLimit, hasRecordsNearLimit }) => hasRecordsAtLimit || hasRecordsNearLimit)
  }

  #putOf(hubId: number): { customProperties?: string; associations: Map<string, string> } {
    const known = this.#put.get(hubId)
    if (known !== undefined) return known
    const none = { associations: new Map<string, string>() }
    this.#put.set(hubId, none)
    return none
  }

  #write(key: string, report: (elapsedMs: number) => object): string {
    const tick = this.#scenario === 'steady' ? 0 : Math.floor((this.#clock.now() - this.#startedAt) / TICK_MS)
    const written = this.#written.get(key)
    if (written?.tick === tick) return written.text
    const text = JSON.stringify(report(tick * TICK_MS))
    this.#written.set(key, { tick, text })
    return text
  }
}
