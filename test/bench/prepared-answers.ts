import { type CustomProperties, percentage, reportsOf } from '../support/large-reports.ts'
import { type Answers, PATHS } from './side.ts'

/** Reports there are; accounts share them, as no account's are compared with another's. */
const VARIANTS = 64
/** Numbers that a changing report goes through, again and again. */
const VERSIONS = 8
/** More than are ever asked for. */
const MOST_ACCOUNTS = 2 ** 18

/** Whole HTTP answers, all made before the first is asked for: the far side shares the machine with the sides that are measured. */
export function prepareAnswers({ changed, freshBytes }: Answers): (hubId: number, report: number) => Buffer {
  const answers = Array.from({ length: VARIANTS }, (_, variant) => {
    const { customProperties, associations } = reportsOf(variant)
    const bodies = [customProperties, ...Object.values(associations)]
    return PATHS.map((__, report) =>
      Array.from({ length: VERSIONS }, (___, version) =>
        report === 0
          ? wholeAnswer(propertiesAt(customProperties, version))
          : wholeAnswer({ ...bodies[report], totalRecordsNearLimit: 100 + version }),
      ),
    )
  })
  const asked = new Uint16Array(MOST_ACCOUNTS * PATHS.length)
  let served = 0
  return (hubId, report) => {
    const place = (hubId % MOST_ACCOUNTS) * PATHS.length + report
    const times = (asked[place] ?? 0) + 1
    asked[place] = times
    // Each series of answers changes at its own times (the golden ratio's multiples): so many in a hundred do, whichever accounts are asked.
    const version = Math.floor(times * changed + ((place * 0.618_033_988_749_895) % 1)) % VERSIONS
    const answer = answers[hubId % VARIANTS]?.[report]?.[version]
    if (answer === undefined) throw new Error(`no report ${report}`)
    return freshBytes === true ? stamped(answer, served++) : answer
  }
}

/** Object types far from their limits, as nearly all are: a storm is not what is measured. */
function propertiesAt(report: CustomProperties, version: number): object {
  const overallUsage = 10_000 + version
  const byObjectType = report.byObjectType.map((type, n) => {
    const usage = n === 0 ? 300 + version : Math.round(type.usage * 0.7)
    return { ...type, usage, percentage: percentage(usage, type.limit) }
  })
  return { ...report, byObjectType, overallUsage, overallPercentage: percentage(overallUsage, report.overallLimit) }
}

const SERVED = '000000000000'

function stamped(answer: Buffer, served: number): Buffer {
  const copy = Buffer.from(answer)
  copy.write(String(served).padStart(SERVED.length, '0'), copy.length - SERVED.length - 2, 'latin1')
  return copy
}

/** `served` is last, where its place is known. */
function wholeAnswer(report: object): Buffer {
  const body = JSON.stringify({ ...report, served: SERVED })
  return Buffer.from(`${headOf(Buffer.byteLength(body))}${body}`)
}

export function headOf(length: number): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json;charset=utf-8\r\ncontent-length: ${length}\r\n\r\n`
}
