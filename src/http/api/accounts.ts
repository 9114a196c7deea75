import { Readable } from 'node:stream'
import * as z from 'zod'
import type { Snapshot } from '../../limits/history/history.ts'
import { pageShape } from '../../operations/operation.ts'
import {
  historyHead,
  historyLines,
  type LineFormat,
  RESOLUTIONS,
  readAccountHistory,
  snapshotJson,
} from '../../views/account-history.ts'
import { withPlan } from '../../views/account-view.ts'
import { SnapshotShape } from '../../views/shapes/series.ts'
import { unknownAccount } from '../problem.ts'
import { cursor, momentOrAgo, numberInQuery, oneOf } from '../query.ts'
import { type Lines, nextOf, OF_ACCOUNT, route } from './route.ts'

const WEEK_MS = 7 * 86_400_000
const MOST_SNAPSHOTS = 1000
const SNAPSHOTS = 500
const EXAMPLE = { params: { hubId: '1234567' } }

const LINES_TYPE: Record<LineFormat, string> = {
  csv: 'text/csv; charset=utf-8; header=present',
  jsonl: 'application/x-ndjson',
}

const SNAPSHOT_RANGE = z
  .strictObject({
    from: momentOrAgo().optional().describe('Default: a week before `to`. A time, or how long ago: 2d.'),
    to: momentOrAgo().optional().describe('Default: now.'),
    resolution: oneOf(RESOLUTIONS)
      .default('raw')
      .describe('Each change, or the values at the end of each hour or day (UTC).'),
    format: oneOf(['json', 'csv', 'jsonl'])
      .default('json')
      .describe('csv and jsonl: a line for each series and moment, all of the range.'),
    limit: numberInQuery(1, MOST_SNAPSHOTS)
      .optional()
      .describe(`The most items of one answer; ${SNAPSHOTS} by default.`),
    after: cursor(numberInQuery(0, Number.MAX_SAFE_INTEGER)).optional(),
  })
  .superRefine(({ format, ...given }, context) => {
    for (const name of ['limit', 'after'] as const) {
      if (format === 'json' || given[name] === undefined) continue
      const message = `format=${format} is not paged: it is all of the range`
      context.addIssue({ code: 'custom', path: [name], message })
    }
  })

export const accountRoutes = [
  route('listSnapshots', 'GET /accounts/{hubId}/snapshots', {
    summary: 'How the series of an account moved',
    params: OF_ACCOUNT,
    query: SNAPSHOT_RANGE,
    gives: {
      description: 'A page of snapshots.',
      json: pageShape(SnapshotShape, 'Oldest first; those of one moment stay together.'),
      lines: Object.values(LINES_TYPE),
    },
    problems: [400, 404],
    example: { ...EXAMPLE, query: { resolution: 'daily' } },
    answer: async (deps, { params: { hubId }, query }) => {
      const now = deps.clock.now()
      const { resolution, format, limit = SNAPSHOTS, after } = query
      const to = query.to?.(now) ?? now
      const from = query.from?.(now) ?? to - WEEK_MS
      const account = await deps.registry.get(hubId)
      if (account === undefined) throw unknownAccount(hubId)
      const snapshots = await readAccountHistory(deps, await withPlan(deps.due, account), { from, to, resolution })
      if (format !== 'json') return { lines: linesOf(format, hubId, snapshots) }
      const { items, next } = snapshotPage([...snapshots], after, limit)
      return { json: { items: items.map(snapshotJson), ...nextOf(next) } }
    },
  }),
]

/** Written as fast as it is read: years of an account are megabytes. */
function linesOf(format: LineFormat, hubId: number, snapshots: Iterable<Snapshot>): Lines {
  const text = Readable.from(allLines(format, hubId, snapshots))
  return { type: LINES_TYPE[format], fileName: `history-${hubId}.${format}`, text }
}

function* allLines(format: LineFormat, hubId: number, snapshots: Iterable<Snapshot>): Generator<string> {
  const head = historyHead(format)
  if (head !== '') yield head
  for (const snapshot of snapshots) yield historyLines(format, hubId, snapshot)
}

/** Up to `limit` snapshots after a moment; those of one moment stay together, so that the next page skips none. */
function snapshotPage(snapshots: readonly Snapshot[], after: number | undefined, limit: number) {
  const rest = snapshots.filter(({ at }) => after === undefined || at > after)
  const end = rest[limit - 1]?.at
  if (end === undefined) return { items: rest, next: undefined }
  const items = rest.filter(({ at }) => at <= end)
  return { items, next: items.length < rest.length ? end : undefined }
}
