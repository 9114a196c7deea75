import { type AssociationReport, REPORTED_PAIRS } from './association-report.ts'
import {
  ASSOCIATIONS,
  type AskedPair,
  type Count,
  type Counts,
  type ReportName,
  type ServedReport,
} from './report-table.ts'
import type { AccountMoment } from './scenario.ts'

/** How a report that an account's plan lacks is answered: with an error of this status, or with an empty object. */
export type Lack = 403 | 404 | 'empty'

type Changes = Record<string, Partial<Count>>

export interface BusyPair {
  readonly from: string
  readonly to: string
  readonly hasRecordsAtLimit: boolean
  readonly hasRecordsNearLimit: boolean
}

/** The reports of one account, as JSON text: the scenario's, or those that were put in their place. */
export class AccountReports {
  readonly #texts = new Map<string, string>()
  readonly #changes = new Map<ReportName, Changes>()
  /** The reports that the plan of the account lacks. */
  lacks: Readonly<Partial<Record<ReportName, Lack>>> = {}

  text(report: ServedReport, moment: AccountMoment, asked: AskedPair): string {
    const text = this.#texts.get(keyOf(report, asked))
    if (text !== undefined) return text
    const counts = changed(report.counts?.(moment) ?? {}, this.#changes.get(report.name) ?? {})
    return JSON.stringify(report.body(moment, counts, asked))
  }

  /** From now on the account answers with exactly this text. */
  put(report: ServedReport, asked: AskedPair, text: string): void {
    this.#texts.set(keyOf(report, asked), text)
  }

  /** From now on these counts are so; the others are the scenario's, and a text that was put is no more. */
  setCounts(report: ServedReport, changes: Changes): void {
    const all = { ...this.#changes.get(report.name) }
    for (const [key, change] of Object.entries(changes)) all[key] = { ...all[key], ...change }
    this.#changes.set(report.name, all)
    this.#texts.delete(keyOf(report, {}))
  }

  /** The pairs of object types that have records at or near their limit just now. */
  busyPairs(moment: AccountMoment): BusyPair[] {
    const start = `${ASSOCIATIONS.name}/`
    const put = [...this.#texts.keys()].filter((key) => key.startsWith(start)).map((key) => key.slice(start.length))
    return [...new Set([...REPORTED_PAIRS, ...put])]
      .map((pair) => {
        const [from = '', to = ''] = pair.split('/')
        const report = JSON.parse(this.text(ASSOCIATIONS, moment, { from, to })) as Partial<AssociationReport>
        return {
          from,
          to,
          hasRecordsAtLimit: Number(report.totalRecordsAtLimit) > 0,
          hasRecordsNearLimit: Number(report.totalRecordsNearLimit) > 0,
        }
      })
      .filter(({ hasRecordsAtLimit, hasRecordsNearLimit }) => hasRecordsAtLimit || hasRecordsNearLimit)
  }
}

function keyOf({ name }: ServedReport, { from, to }: AskedPair): string {
  return from === undefined ? name : `${name}/${from}/${to}`
}

function changed(counts: Counts, changes: Changes): Counts {
  const all: Record<string, Count> = { ...counts }
  for (const [key, change] of Object.entries(changes)) all[key] = { usage: 0, ...all[key], ...change }
  return all
}
