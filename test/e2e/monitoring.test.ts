import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { text as textOf } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { registerGauges } from '../../src/http/metrics.ts'
import type { WebDeps } from '../../src/http/web-deps.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import type { Daemon } from '../support/daemon.ts'
import { metricOf, readExposition, type ShownMetric, sumOf } from '../support/exposition.ts'
import { ask, connectAll, eventually, hubIdsOf } from '../support/fleet.ts'
import { findProgram } from '../support/programs.ts'
import { openScene, type Scene } from '../support/scene.ts'

/** What is shipped for Prometheus and Grafana, held against the metrics of a daemon that has lived. */
const DEPLOY = new URL('../../config/deploy/', import.meta.url)
const RULES = new URL('prometheus/plimsoll.rules.yml', DEPLOY).pathname
const RULES_TEST = new URL('prometheus/plimsoll.rules.test.yml', DEPLOY).pathname

interface Rule {
  alert?: string
  record?: string
  expr: string
  for?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
}
interface Panel {
  type: string
  title: string
  description?: string
  datasource?: { uid: string }
  fieldConfig?: { defaults: { unit?: string } }
  targets?: { expr: string; datasource: { uid: string } }[]
}

const rules = (parse(readFileSync(RULES, 'utf8')) as { groups: { rules: Rule[] }[] }).groups.flatMap((one) => one.rules)
const alerts = rules.filter(({ alert }) => alert !== undefined)
const dashboard = JSON.parse(readFileSync(new URL('grafana/plimsoll.json', DEPLOY), 'utf8')) as {
  panels: Panel[]
  templating: { list: { name: string; type: string }[] }
}
const panels = dashboard.panels.filter(({ type }) => type !== 'row')
const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

let scene: Scene
let daemon: Daemon
let hubIds: number[]
let text: string
let metrics: Map<string, ShownMetric>

beforeAll(async () => {
  scene = await openScene({ accounts: 3, tokenLifetimeMs: 8_000 })
  const settings = { thresholds: [{ on: 'customProperties.overall', warning: { percent: 1 } }] }
  daemon = await scene.daemon({ ...settings, limits: { every: '2s' } })
  hubIds = await hubIdsOf(scene.sandbox.url)
  await connectAll(daemon.url, hubIds)
  await eventually('refreshes, polls and deliveries', async () => {
    text = await (await ask(`${daemon.url}/metrics`)).text()
    const wanted = [
      sumOf(text, 'plimsoll_token_refreshes_total', 'outcome="refreshed"'),
      sumOf(text, 'plimsoll_limit_poll_lateness_seconds_count'),
      sumOf(text, 'plimsoll_deliveries_total', 'outcome="delivered"'),
      sumOf(text, 'plimsoll_http_requests_total', 'route="/metrics"'),
    ]
    // Left out while Redis is slow.
    return wanted.every((count) => count > 0) && text.includes('\nplimsoll_queue_jobs{')
  })
  metrics = readExposition(text)
})
afterAll(() => scene.close())

describe('the metrics of a daemon that has lived', () => {
  test('are as Prometheus would have them', async () => {
    expect(await promtool(['check', 'metrics'], text)).toEqual({ code: 0, output: '' })
  })

  test('name no account and no token, and have few series', async () => {
    for (const hubId of hubIds) expect(text).not.toMatch(new RegExp(`"[^"\\n]*${hubId}[^"\\n]*"`))
    expect(text).not.toContain('example.com')
    expect(text.split('\n').length).toBeLessThan(2_000)
  })

  test('count what happened: each call to the provider once', async () => {
    // Each account was connected by one call.
    await eventually('a refresh is counted', async () => {
      text = await (await ask(`${daemon.url}/metrics`)).text()
      return sumOf(text, 'plimsoll_provider_requests_total', 'endpoint="token",class="2xx"') > hubIds.length
    })
    expect(sumOf(text, 'plimsoll_token_refresh_headroom_seconds_count')).toBeGreaterThan(0)
    expect(sumOf(text, 'plimsoll_provider_requests_total', 'endpoint="customProperties",class="2xx"')).toBeGreaterThan(
      0,
    )
    expect(text).toMatch(/^plimsoll_token_nearest_expiry_seconds -?\d/m)
    expect(sumOf(text, 'plimsoll_delivery_delay_seconds_count')).toBeGreaterThan(0)
  })

  test('are those of the table in monitoring.md', () => {
    const shown = readFileSync(new URL('monitoring.md', DEPLOY), 'utf8')
    const table = shown.split('\n').filter((line) => line.startsWith('| `plimsoll_'))
    expect(table).toEqual(registered().map(asRow).sort())
    const names = table.map((row) => row.split('`')[1])
    const shownNow = [...metrics.keys()].filter((name) => name.startsWith('plimsoll_'))
    expect(names.sort()).toEqual(shownNow.sort())
  })
})

describe('the rules', () => {
  test('are what Prometheus takes, and fire when they should and at no other time', async () => {
    expect(await promtool(['check', 'rules', RULES])).toMatchObject({ code: 0 })
    const tested = await promtool(['test', 'rules', RULES_TEST])
    expect(tested.output).toContain('SUCCESS')
    expect(tested.code, tested.output).toBe(0)
  })

  test('are all tested both ways', () => {
    const { tests } = parse(readFileSync(RULES_TEST, 'utf8')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[]
    }
    const looks = tests.flatMap((one) => one.alert_rule_test)
    const seen = (fires: boolean) =>
      new Set(looks.filter((look) => look.exp_alerts.length > 0 === fires).map(({ alertname }) => alertname))
    for (const { alert = '' } of alerts)
      expect([alert, seen(true).has(alert), seen(false).has(alert)]).toEqual([alert, true, true])
  })

  test('say what is wrong, how bad that is and where to read on', () => {
    for (const { labels, annotations, for: pause } of alerts) {
      expect(annotations).toEqual({
        summary: expect.stringMatching(/^\S.*[^.]$/),
        description: expect.stringMatching(/\.$/),
        runbook_url: expect.stringMatching(/^runbook\.md#check-/),
      })
      expect(['critical', 'warning']).toContain(labels?.severity)
      expect(pause).toMatch(/^\d+[mh]$/)
    }
  })

  test('ask for metrics and labels that there are', () => {
    for (const { expr } of rules) expect(unknownIn(expr)).toEqual([])
    const recorded = rules.flatMap(({ record = [] }) => record)
    const used = rules.flatMap(({ expr }) => expr.match(/\b[a-z_]+:\w+:\w+/g) ?? [])
    expect([...new Set(used)].filter((name) => !recorded.includes(name))).toEqual([])
  })

  test('would be missed if one had a typo', () => {
    expect(unknownIn('plimsoll_acounts > 1')).toEqual(['plimsoll_acounts'])
    expect(unknownIn('plimsoll_limit_polls_total{outcome="comitted"}')).toEqual(['outcome="comitted"'])
  })
})

describe('the dashboard', () => {
  test('has panels that say what they show, in which unit, of a data source that is chosen', () => {
    expect(dashboard.templating.list.map(({ name, type }) => [name, type])).toContainEqual(['datasource', 'datasource'])
    for (const { title, description, fieldConfig, datasource, targets = [] } of panels) {
      expect(title).not.toBe('')
      expect([title, description]).toEqual([title, expect.stringMatching(/\.$/)])
      expect([title, fieldConfig?.defaults.unit]).toEqual([title, expect.stringMatching(/^\w+$/)])
      for (const source of [datasource, ...targets.map((target) => target.datasource)]) {
        expect(source?.uid).toBe('${datasource}')
      }
      expect(targets.length).toBeGreaterThan(0)
    }
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length)
  })

  test('asks for metrics and labels that there are, in words that Prometheus understands', async () => {
    for (const query of queries) expect(unknownIn(query)).toEqual([])
    const asRules = queries.map((query, n) => ({
      record: `panel:query:n${n}`,
      expr: query.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'plimsoll'),
    }))
    const file = `${scene.folder}/dashboard.rules.json`
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: asRules }] }))
    const checked = await promtool(['check', 'rules', file])
    expect(checked.code, checked.output).toBe(0)
  })
})

/** Metrics that a query names and nobody shows; labels and values that none of its metrics has. */
function unknownIn(query: string): string[] {
  const names = query.match(/(?<![:\w])(?:plimsoll|nodejs|process)_\w+/g) ?? []
  const unknown = names.filter((name) => metricOf(metrics, name) === undefined)
  for (const [, name = '', matchers = ''] of query.matchAll(/(?<![:\w])((?:plimsoll|nodejs)_\w+)\{([^}]*)\}/g)) {
    for (const [matcher, label = '', value = ''] of matchers.matchAll(/(\w+)=~?"([^"]*)"/g)) {
      const values = metricOf(metrics, name)?.values[label]
      if (label !== 'job' && !value.split('|').some((one) => values?.has(one))) unknown.push(matcher)
    }
  }
  return unknown
}

interface RegisteredMetric {
  name: string
  help: string
  labelNames: string[]
}

/** As a daemon registers them: labels are there before anything was counted. */
function registered(): RegisteredMetric[] {
  const made = createMetrics()
  registerGauges({ metrics: made } as WebDeps)
  const all = made.registry.getMetricsAsArray() as unknown as RegisteredMetric[]
  return all.filter(({ name }) => name.startsWith('plimsoll_'))
}

const UNITS: Record<string, string> = { seconds: 'seconds', bytes: 'bytes', ratio: '0 to 1' }

function asRow({ name, help, labelNames }: RegisteredMetric): string {
  const unit = UNITS[name.split('_').at(-1) ?? ''] ?? ''
  const by = labelNames.filter((label) => label !== 'le').map((label) => `\`${label}\``)
  const type = metrics.get(name)?.type ?? 'never shown'
  const cells = [`\`${name}\``, type, unit, by.join(', '), help].map((cell) => (cell === '' ? ' ' : ` ${cell} `))
  return `|${cells.join('|')}|`
}

/** Where `config/setup/setup.mjs` leaves the one that it has fetched. */
const FETCHED = fileURLToPath(new URL('../../node_modules/.cache/plimsoll/promtool', import.meta.url))

/** Runs Prometheus' own checker; `input` is what it reads from standard input. */
async function promtool(args: readonly string[], input = ''): Promise<{ code: number | null; output: string }> {
  const child = spawn(findPromtool(), args, { stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve))
  child.stdin.end(input)
  const [out, err, code] = await Promise.all([textOf(child.stdout), textOf(child.stderr), ended])
  return { code, output: out + err }
}

function findPromtool(): string {
  const found = findProgram(['promtool'], { given: process.env.PROMTOOL_BIN, fetched: FETCHED })
  if (found === undefined) throw new Error('there is no promtool: apt-get install prometheus, or set PROMTOOL_BIN')
  return found
}
