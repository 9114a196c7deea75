import { gapLines, type ReportGaps } from '../src/provider/report-gaps.ts'
import type { Logger } from '../src/runtime/logger.ts'

/** Each report once, until all of it is read again. */
export function logGaps(log: Logger, hubId: number, before: ReportGaps, after: ReportGaps): void {
  const news = Object.entries(after).filter(([report]) => before[report] === undefined)
  if (news.length === 0) return
  const gaps = gapLines(Object.fromEntries(news))
  log.warn({ code: 'poll.gaps', hubId, gaps }, 'read with gaps: what could not be read is not judged')
}
