import * as z from 'zod'
import { ruleName } from '../alerts/evaluation/rules.ts'
import type { QuietHours, Route } from '../alerts/route.ts'
import { named, prose, whole } from '../text/columns.ts'
import { placeOf } from '../views/explain-account.ts'
import { type RouteShape, RulesShape } from '../views/shapes/rules.ts'
import { operation } from './operation.ts'

export const listRules = operation({
  id: 'listRules',
  method: 'GET',
  path: '/rules',
  summary: 'thresholds and routes in force',
  input: z.strictObject({}),
  output: RulesShape,
  example: {},
  run: async ({ explain: { rules, routes } }): Promise<RulesShape> => ({
    rules: rules.map((rule) => ({ ...placeOf(rules, rule), watches: ruleName({ ...rule, name: rule.on }) })),
    routes: routes.map(routeOf),
  }),
  notes: () => [
    'the first threshold that matches a limit decides, and the first route that matches an alert',
    'to change them, edit the config file and reload with SIGHUP',
  ],
  table: ({ rules, routes }) => [
    'Thresholds',
    {
      columns: [whole('LINE OF CONFIG'), named('WATCHES'), prose('LEVELS'), named('NAME')],
      rows: rules.map(({ line, name, title, watches, asks }) => [
        String(line ?? ''),
        watches,
        asks,
        title === watches ? '' : name,
      ]),
    },
    '',
    'Routes',
    {
      columns: [whole('ROUTE'), prose('ALERTS'), prose('RECEIVERS'), prose('QUIET HOURS')],
      rows: routes.map(({ match, to, quiet }, n) => [
        String(n + 1),
        match,
        to.join(', ') || 'none',
        quiet.join('; ') || 'none',
      ]),
    },
  ],
})

function routeOf({ match = {}, to, quiet = [] }: Route): RouteShape {
  const { tag, ...others } = match
  const asked = Object.entries({ ...others, tag: tag?.map(({ name }) => name) }).flatMap(([name, values]) =>
    values === undefined ? [] : [`${name} ${values.join(' or ')}`],
  )
  return { match: asked.join(', ') || 'all alerts', to: [...to], quiet: quiet.map(hoursText) }
}

function hoursText({ from, to, days, timeZone }: QuietHours): string {
  return `${from} to ${to} ${timeZone}${days === undefined ? '' : `, ${days.join(' ')}`}`
}
