import type { Clock } from '../runtime/clock.ts'
import type { ServedReportName } from './limits/all-reports.ts'
import { REPORTED_PAIRS, servedAssociations } from './limits/association-records.ts'
import type { AskedReport, ServedReport } from './limits/served-report.ts'
import type { Lack, Lacks } from './plan.ts'
import type { AccountMoment, Scenario } from './scenario.ts'
import { type SetCount, SetCounts } from './set-counts.ts'

/** Reports of a moving scenario change at most this often, so that each is written out once and served many times. */
const TICK_MS = 500

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

/** The reports of an account that a test has arranged. Keys: a report's name and the object types that it is asked for. */
interface Arranged {
  readonly put: Map<string, string>
  readonly set: Map<string, SetCounts>
  lacks: Lacks
}

/** The reports that accounts answer with, as JSON text: the scenario's, or those that were put in their place. */
export class Reports {
  readonly #scenario: Scenario
  readonly #clock: Clock
  readonly #startedAt: number
  readonly #arranged = new Map<number, Arranged>()
  readonly #written = new Map<string, Written>()

  constructor(scenario: Scenario, clock: Clock) {
    this.#scenario = scenario
    this.#clock = clock
    this.#startedAt = clock.now()
  }

  text(report: ServedReport, hubId: number, asked: AskedReport): string {
    const key = keyOf(report, asked)
    const arranged = this.#arranged.get(hubId)
    const put = arranged?.put.get(key)
    if (put !== undefined) return put
    const set = arranged?.set.get(key)
    const tick = this.#tick()
    const write = () => {
      const now = this.#clock.now()
      const body = report.body(this.#momentOf(hubId, tick), asked, (counts) => set?.applied(counts, now) ?? counts)
      return JSON.stringify(body)
    }
    // Deleted objects count for a while, whatever the scenario does.
    if (set !== undefined || report.isKept?.(asked) === false) return write()
    const written = this.#written.get(`${hubId}/${key}`)
    if (written?.tick === tick) return written.text
    const text = write()
    this.#written.set(`${hubId}/${key}`, { tick, text })
    return text
  }

  /** From now on the account answers with exactly this text. */
  put(report: ServedReport, hubId: number, asked: AskedReport, text: string): void {
    this.#arrangedOf(hubId).put.set(keyOf(report, asked), text)
  }

  /** From now on these counts are so; the others are the scenario's, and a text that was put is no more. */
  setCounts(report: ServedReport, hubId: number, changes: Readonly<Record<string, SetCount>>): void {
    const { put, set } = this.#arrangedOf(hubId)
    const key = keyOf(report, {})
    const counts = set.get(key) ?? new SetCounts(report.deletedForMs)
    counts.set(changes, report.counts?.(this.#momentOf(hubId, this.#tick())) ?? [], this.#clock.now())
    set.set(key, counts)
    put.delete(key)
  }

  /** From now on the plan of the account lacks these reports, and no others. */
  putLacks(hubId: number, lacks: Lacks): void {
    this.#arrangedOf(hubId).lacks = lacks
  }

  lackOf(report: ServedReport<ServedReportName>, hubId: number): Lack | undefined {
    return this.#arranged.get(hubId)?.lacks[report.name]
  }

  /** The pairs of object types that have records at or near their limit just now. */
  busyPairs(hubId: number): AssociationTotals[] {
    const names = new Set(REPORTED_PAIRS.map(([from, to]) => keyOf(servedAssociations, { from, to })))
    for (const key of this.#arranged.get(hubId)?.put.keys() ?? []) {
      if (key.startsWith(`${servedAssociations.name}/`)) names.add(key)
    }
    return [...names]
      .map((name) => {
        const [, from = '', to = ''] = name.split('/')
        const report = JSON.parse(this.text(servedAssociations, hubId, { from, to })) as Record<string, unknown>
        return {
          from,
          to,
          hasRecordsAtLimit: Number(report.totalRecordsAtLimit) > 0,
          hasRecordsNearLimit: Number(report.totalRecordsNearLimit) > 0,
        }
      })
      .filter(({ hasRecordsAtLimit, hasRecordsNearLimit }) => hasRecordsAtLimit || hasRecordsNearLimit)
  }

  #arrangedOf(hubId: number): Arranged {
    const known = this.#arranged.get(hubId)
    if (known !== undefined) return known
    const none = { put: new Map<string, string>(), set: new Map<string, SetCounts>(), lacks: {} }
    this.#arranged.set(hubId, none)
    return none
  }

  #tick(): number {
    return this.#scenario === 'steady' ? 0 : Math.floor((this.#clock.now() - this.#startedAt) / TICK_MS)
  }

  #momentOf(hubId: number, tick: number): AccountMoment {
    return { scenario: this.#scenario, hubId, elapsedMs: tick * TICK_MS }
  }
}

function keyOf({ name }: ServedReport, { from, to }: AskedReport): string {
  return from === undefined ? name : `${name}/${from}/${to}`
}
