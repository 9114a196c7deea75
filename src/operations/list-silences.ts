import { number, prose, spare, whole } from '../text/columns.ts'
import { formatDistance } from '../text/format-number.ts'
import { SilenceShape } from '../views/shapes/alert.ts'
import { silenceViews } from '../views/silenced.ts'
import { flagField } from './field.ts'
import { listing } from './operation.ts'
import { numberAndId, pageOfList } from './searches.ts'

export const silenceList = listing({
  id: 'listSilences',
  route: 'GET /silences',
  is: 'list the silences in force, and those that begin later: what, by whom, why, from when until when, how many open alerts',
  takes: { all: flagField('also those that ended in the last five days') },
  gives: SilenceShape,
  order: 'The one that ends first first.',
  // The end and the id of the silence that came last.
  pages: { cursor: /^\d{1,16}\..{1,40}$/ },
  example: { query: { all: 'true' } },
  reads: async (deps, { given: { all }, page: { limit, after }, now }) => {
    const found = all ? await deps.silences.all() : await deps.silences.current(now)
    const [afterAt, afterId] = after === undefined ? [-1, ''] : numberAndId(after)
    const rest = found.filter(({ endsAt, id }) => endsAt > afterAt || (endsAt === afterAt && id > afterId))
    const { items, next } = pageOfList(rest, limit, (last) => `${last.endsAt}.${last.id}`)
    return { next, items: await silenceViews(deps, items, now) }
  },
  json: (silence) => silence,
  show: ({ items }, { now }) => {
    if (items.length === 0) return ['no silences in force']
    const what = [whole('ID'), prose('WHAT'), 'BY', prose('WHY')]
    const columns = [...what, spare(whole('STARTS')), whole('ENDS'), number('OPEN ALERTS')]
    const distance = (at: string) => formatDistance(Date.parse(at) - now)
    const rows = items.map(({ id, match, author, comment, startsAt, endsAt, openAlerts }) => [
      id,
      match,
      author,
      comment,
      Date.parse(startsAt) <= now ? '' : distance(startsAt),
      distance(endsAt),
      String(openAlerts),
    ])
    return [{ columns, rows }]
  },
})
