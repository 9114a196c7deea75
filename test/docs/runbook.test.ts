import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import * as z from 'zod'
import { KINDS } from '../../config/schema/routes.ts'
import type { PollCause } from '../../src/alerts/alert.ts'
import type { ReceiverTrouble } from '../../src/delivery/receiver-health.ts'
import type { COVERAGE } from '../../src/limits/coverage.ts'
import type { DATA } from '../../src/redis/installation.ts'
import { LOG_CODES } from '../../src/runtime/log-codes.ts'
import { RUNBOOK, runbookUrl } from '../../src/text/runbook.ts'
import type { Cause } from '../../src/tokens/endpoint/breaker.ts'
import { anchorsOf, ROOT } from '../support/documents.ts'

const text = readFileSync(join(ROOT, 'config', 'guide', 'runbook.md'), 'utf8')

function part(heading: string): string {
  const [, after = ''] = text.split(`\n## ${heading}\n`)
  return after.split('\n## ')[0] ?? ''
}

/** By their types, so that a cause that is new does not compile before it has its section. */
const FLEET = {
  credentials: 0,
  refused: 0,
  unreachable: 0,
  throttled: 0,
  clock: 0,
  coverage: 0,
  calls: 0,
  data: 0,
} satisfies Record<Cause | 'clock' | 'calls' | typeof COVERAGE | typeof DATA, 0>
const POLL = { scopes: 0, failing: 0, unauthorized: 0, unreadable: 0 } satisfies Record<PollCause, 0>
const RECEIVER = { failing: 0, disabled: 0, recipients: 0 } satisfies Record<ReceiverTrouble['is'], 0>

test('mails and pages can link to every kind of alert and to each of its causes', () => {
  expect(Object.keys(RUNBOOK).toSorted()).toEqual(KINDS.toSorted())
  for (const [kind, causes] of Object.entries({ fleet: FLEET, poll: POLL, delivery: RECEIVER })) {
    expect([...RUNBOOK[kind as 'fleet']].toSorted()).toEqual(Object.keys(causes).toSorted())
  }
})

test('each of these has its section, and no other is there', () => {
  const sections = Object.entries(RUNBOOK).flatMap(([kind, causes]) => [
    kind,
    ...causes.map((cause) => `${kind}-${cause}`),
  ])
  expect(anchorsOf({ path: '', text: part('Alerts') })).toEqual(sections)
  expect(runbookUrl('https://plimsoll.example.com/', 'fleet', 'clock')).toBe(
    'https://plimsoll.example.com/runbook/fleet-clock',
  )
  expect(runbookUrl('https://plimsoll.example.com', 'limit', 'unknown')).toBe(
    'https://plimsoll.example.com/runbook/limit',
  )
})

test('every section about an alert says how urgent it is', () => {
  const sections = ['Alerts', 'Prometheus alerts'].flatMap((heading) =>
    part(heading)
      .split(/\n####? /)
      .slice(1),
  )
  const alerts = sections.filter((section) => !/^(token|poll|fleet|delivery)\n/.test(section))
  expect(alerts.filter((section) => !/^- \*\*Urgency\*\*: (now|today|later|-|as )/m.test(section))).toEqual([])
})

/** codes, what it means, what to do, how urgent it is */
const rows = [...part('Log codes').matchAll(/^\| (`.*) \|$/gm)].map(([, row = '']) =>
  row.split('|').map((cell) => cell.trim()),
)

test('every log code has one entry, and every entry is about a code that there is', () => {
  const listed = rows.flatMap(([codes = '']) => [...codes.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code))
  expect(listed.toSorted()).toEqual([...LOG_CODES].toSorted())
})

test('every log code is written somewhere', () => {
  const source = ['src', 'jobs'].flatMap((folder) => sourcesIn(folder)).join('\n')
  const unused = LOG_CODES.filter((code) => {
    const [room = ''] = code.split('.')
    // Some are put together: `poll.${kind}`, `${kind}.error`.
    const isMade = source.includes(`\`${room}.$\{`) || code === `${room}.error`
    return !isMade && !source.includes(`'${code}'`)
  })
  expect(unused).toEqual([])
})

function sourcesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && basename(path) !== 'log-codes.ts')
    .map((path) => readFileSync(join(ROOT, folder, path), 'utf8'))
}

test('every entry says what it means and how urgent it is; what is urgent says what to do', () => {
  for (const [codes, means = '', todo = '', urgency = ''] of rows) {
    expect(means.length, codes).toBeGreaterThan(10)
    expect(urgency, codes).toMatch(/^(now|today|later|-)(,|$)/)
    if (/^(now|today)/.test(urgency)) expect(todo.length, codes).toBeGreaterThan(10)
  }
})

test('every alert of the Prometheus rules links to its section, and no other is there', () => {
  const rules = RULES.parse(
    parse(readFileSync(join(ROOT, 'config', 'deploy', 'prometheus', 'plimsoll.rules.yml'), 'utf8')),
  )
  const alerts = rules.groups.flatMap((group) => group.rules).filter(({ alert }) => alert !== undefined)
  expect(alerts.length).toBeGreaterThan(20)
  const sections = anchorsOf({ path: '', text: part('Prometheus alerts') })
  expect(alerts.map(({ annotations }) => annotations?.runbook_url).toSorted()).toEqual(
    sections.map((anchor) => `runbook.md#${anchor}`).toSorted(),
  )
  for (const { alert } of alerts) expect(part('Prometheus alerts')).toContain(`\n\n\`${alert}\`: `)
})

const RULES = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({ alert: z.string().optional(), annotations: z.object({ runbook_url: z.string() }).optional() }),
      ),
    }),
  ),
})

test('its headings make names of their own, so that links to them last', () => {
  const anchors = anchorsOf({ path: 'config/guide/runbook.md', text })
  expect(anchors.filter((anchor) => /-\d$/.test(anchor))).toEqual([])
})
