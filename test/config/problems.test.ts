import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { renderPath, renderProblem } from '../../config/schema/problems.ts'
import { RECEIVER_SETTINGS } from '../../src/delivery/receivers/all-receivers.ts'
import { METRICS, REPORT_NAMES } from '../../src/limits/reports/all-reports.ts'
import { KEY, load, problemsOf, SMALLEST, smallestWith } from './load-text.ts'

const TYPES = RECEIVER_SETTINGS.map(({ shape }) => shape.type.value).join(', ')
const SERIES = [...METRICS, ...REPORT_NAMES.map((name) => `${name}.*`), '*', 'limit-changed'].join(', ')

/** Each kind of problem says where it is, and what is allowed. */
const cases = readFileSync(join(import.meta.dirname, 'problems.txt'), 'utf8')
  .replaceAll('<key>', KEY)
  .replaceAll('<types>', TYPES)
  .replaceAll('<series>', SERIES)
  .split(/\n(?! )/)
  .filter((one) => one !== '' && !one.startsWith('#'))
  .map((one): [group: string, problems: string[]] => {
    const [group = '', ...problems] = one.split('\n  ! ')
    return [group, problems.map((problem) => problem.trimEnd())]
  })

test.each(cases)('%s', (group, problems) => {
  expect(problemsOf(smallestWith(group)).sort()).toEqual(problems.sort())
})

test('none of them was lost on the way', () => {
  expect(cases).toHaveLength(96)
})

test('what is missing is named setting by setting, with the way to give secrets', () => {
  expect(problemsOf('log: {}').sort()).toEqual([
    'http.publicUrl: required',
    'provider.clientId: required',
    'provider.clientSecret: required, here or in a file that clientSecretFile names',
    'receivers: required',
    'routes: required',
  ])
})

test('all problems are told at once, in the order of the file, each as a line that leads there', () => {
  const result = load(`
provider: { clientId: a, clientSecret: "\${NOT_SET}", timeout: 30 }
http: { publicUrl: https://plimsoll.example.com, adminToken: "a b" }
routes: [ { match: { level: critcal }, to: [osp] } ]
receivers:
  ops:
    type: webhook
    url: http://hooks.example.com
    secrets: ["%"]
    frmat: plimsoll
thresholds:
  - { on: associations.atLimit, treshold: 3, warning: { percent: 90 } }
log: { level: info }
log: {}
`)
  const lines = result.ok ? [] : result.problems.map((problem) => renderProblem('config/plimsoll.yaml', problem))
  expect(lines).toEqual([
    'config/plimsoll.yaml:2:40 provider.clientSecret: the environment variable NOT_SET is not set',
    'config/plimsoll.yaml:2:63 provider.timeout: a duration needs its unit: write 30s',
    'config/plimsoll.yaml:3:62 http.adminToken: must be letters, digits and signs without spaces',
    'config/plimsoll.yaml:4:29 routes[0].match.level: "critcal" is not one of warning, critical; did you mean "critical"?',
    'config/plimsoll.yaml:4:45 routes[0].to[0]: no receiver has this name, did you mean "ops"?',
    'config/plimsoll.yaml:8:10 receivers.ops.url: must start with https:// (http:// needs insecure: true, or a host that is this machine)',
    'config/plimsoll.yaml:9:15 receivers.ops.secrets[0]: must be in base64; to make one: openssl rand -base64 32',
    'config/plimsoll.yaml:10:5 receivers.ops.frmat: unknown, did you mean "format"?',
    'config/plimsoll.yaml:12:33 thresholds[0].treshold: unknown; allowed: name, on, match, off, warning, critical, recoverBelow',
    'config/plimsoll.yaml:12:66 thresholds[0].warning.percent: associations.atLimit is a number of records without a limit: only count can be asked',
    'config/plimsoll.yaml:14:1 log: given twice: first in line 13',
  ])
})

test('the scheduler has the last word on cron expressions', () => {
  const text = `${SMALLEST}schedule: { pollLimits: "99 * * * *", refreshTokens: "* * * * *" }`
  expect(problemsOf(text, { validateCron: (expression) => !expression.startsWith('99') })).toEqual([
    'schedule.pollLimits: not a cron expression: 5 fields, or 6 with seconds first, like */10 * * * * *',
  ])
})

test('paths are written as they would be in a program', () => {
  expect(renderPath(['thresholds', 2, 'warning', 'percent'])).toBe('thresholds[2].warning.percent')
  expect(renderPath(['receivers', 'a b', 'to', 0])).toBe('receivers["a b"].to[0]')
  expect(renderPath([])).toBe('')
})

test('a problem of the whole file is told without a path', () => {
  expect(renderProblem('a.yaml', { path: '', message: 'empty' })).toBe('a.yaml: empty')
})
