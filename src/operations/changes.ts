import { readChanges } from '../alerts/read-changes.ts'
import { changeText, describeChanges } from '../delivery/describe/describe-changes.ts'
import { named, prose, spare, whole } from '../text/columns.ts'
import { FleetChangesShape } from '../views/shapes/changes.ts'
import { momentField } from './field.ts'
import { operation } from './operation.ts'

export const changes = operation({
  id: 'listChanges',
  route: 'GET /changes',
  is: 'show what changed in all accounts: accounts lost, gone and connected, alerts, limits',
  description:
    'Several changes of one alert, limit or account are one: its first state and its last. `counts` are of all of them, `leftOut` is how many of them `items` does not have; a later `since` has fewer.',
  takes: { since: momentField('from when on', '24h') },
  gives: FleetChangesShape,
  pages: { limit: 'The most items of each of the four groups.' },
  example: { query: { since: '24h' } },
  examples: ['--since 24h'],
  reads: (deps, { given: { since }, page: { limit }, now }) =>
    readChanges(deps, { since: since(now), until: now, mostOfEach: limit }),
  notes: (found) => {
    const { note } = describeChanges(found)
    return note === undefined ? [] : [`${note.charAt(0).toLowerCase()}${note.slice(1)}`]
  },
  show: (found) => {
    const { line, groups } = describeChanges(found)
    const tables = groups.map(({ title, accounts }) => {
      const hasMore = accounts.some(({ others }) => others.length > 0)
      const what = hasMore ? [prose('CHANGES'), prose('WORST CHANGE')] : [prose('CHANGE')]
      const rows = accounts.map((one) => [one.subject, ...(hasMore ? [one.counted] : []), changeText(one), one.at])
      return ['', title, { columns: [named('ACCOUNT'), ...what, spare(whole('AT'))], rows }]
    })
    return [line, ...tables.flat()]
  },
})
