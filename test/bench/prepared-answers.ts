import { percentage, reportsOf } from './reports.ts'

/** The limits endpoints, in the order in which an account is asked. */
export const REPORTS = ['custom-properties', '0-1/0-2', '0-2/0-1', '0-1/0-3'] as const

export interface AnswerOptions {
  /** Share of the answers in which a number changed since the same account's last one. */
  changed: number
  /** Every answer differs in a field that nobody reads: none can be skipped by its bytes. */
  freshBytes: boolean
}

/** Reports there are; accounts share them, as nobody compares one account's with another's. */
const VARIANTS = 64
/** Numbers that a changing report goes through, again and again. */
const VERSIONS = 8
/** More than are ever asked for. */
const MOST_ACCOUNTS = 2 ** 18

/**
 * Whole HTTP answers of the limits endpoints as they go out, all made before the first is asked for: what the far side
 * spends is not measured, but it shares the machine with who is.
 */
export function prepareAnswers({ changed, freshBytes }: AnswerOptions): (hubId: number, report: number) => Buffer {
  const answers = Array.from({ length: VARIANTS }, (_, variant) => {
    const { customProperties, associations } = calm(reportsOf(variant))
    const [first, second, third] = Object.values(associations)
    return [customProperties, first, second, third].map((report) =>
      Array.from({ length: VERSIONS }, (__, version) =>
        wholeAnswer({ ...moved(report ?? {}, version), served: SERVED }),
      ),
    )
  })
  const asked = new Uint16Array(MOST_ACCOUNTS * REPORTS.length)
  let served = 0
  return (hubId, report) => {
    const place = (hubId % MOST_ACCOUNTS) * REPORTS.length + report
    const times = (asked[place] ?? 0) + 1
    asked[place] = times
    // Each series of answers changes at its own times: so many in a hundred do, whichever accounts are asked.
    const version = Math.floor(times * changed + spread(place)) % VERSIONS
    const answer = answers[hubId % VARIANTS]?.[report]?.[version]
    if (answer === undefined) throw new Error(`no report ${report}`)
    return freshBytes ? stamped(answer, served++) : answer
  }
}

const SERVED = '000000000000'

function stamped(answer: Buffer, served: number): Buffer {
  const copy = Buffer.allocUnsafe(answer.length)
  answer.copy(copy)
  copy.write(String(served).padStart(SERVED.length, '0'), copy.length - SERVED.length - 2, 'latin1')
  return copy
}

/** From 0 to below 1, evenly (the golden ratio's multiples). */
function spread(place: number): number {
  return (place * 0.618_033_988_749_895) % 1
}

interface Report {
  overallUsage?: number
  overallLimit?: number
  byObjectType?: { usage: number; limit: number; percentage: number }[]
  totalRecordsNearLimit?: number
}

/** Object types far from their limits: nearly all are, and what is measured is no storm. */
function calm({ customProperties, associations }: ReturnType<typeof reportsOf>) {
  const { byObjectType = [] } = customProperties as Report
  for (const type of byObjectType) {
    type.usage = Math.round(type.usage * 0.7)
    type.percentage = percentage(type.usage, type.limit)
  }
  return { customProperties, associations }
}

function moved(report: Report, version: number): Report {
  const { overallUsage, overallLimit = 0, byObjectType = [], totalRecordsNearLimit } = report
  const [first, ...others] = byObjectType
  if (totalRecordsNearLimit !== undefined) return { ...report, totalRecordsNearLimit: 100 + version }
  if (overallUsage === undefined || first === undefined) return report
  const [overall, usage] = [10_000 + version, 300 + version]
  return {
    ...report,
    ...{ overallUsage: overall, overallPercentage: percentage(overall, overallLimit) },
    byObjectType: [{ ...first, usage, percentage: percentage(usage, first.limit) }, ...others],
  }
}

/** `served` stands last, where its place is known. */
function wholeAnswer(report: object): Buffer {
  const body = JSON.stringify(report)
  return Buffer.from(`${headOf(Buffer.byteLength(body))}${body}`)
}

/** With a length of body and nothing that is not needed. */
export function headOf(length: number): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json;charset=utf-8\r\ncontent-length: ${length}\r\n\r\n`
}
