import { expect, test } from 'vitest'
import { plimsollHere } from '../support/command.ts'
import { startDaemon } from '../support/daemon.ts'
import { ask, connectAll, eventually, getJson, hooksOf, journalOf, mailsOf, send } from '../support/fleet.ts'
import { sceneFor } from '../support/scene.ts'

/** A real daemon that reads all reports of the real sandbox: of an account with everything, and of one with a lesser plan. */
const [FULL, LESS] = [901, 902]
const LACKED = ['associationLabels', 'pipelines', 'records']

/** One of each metric: its id, the path and the key of its count in the sandbox, its name, and its subject in a mail. */
const SERIES = [
  [
    'associationLabels.pair',
    'labels/0-1/0-2',
    'associations/labels',
    '0-1/0-2',
    'Contacts → Companies: association labels',
  ],
  ['calculatedProperties.overall', 'calculated', 'calculated-properties', 'overall', 'Calculated properties'],
  ['customObjectTypes.overall', 'custom-types', 'custom-object-types', 'overall', 'Custom object types'],
  ['pipelines.objectType', 'pipelines/0-3', 'pipelines', '0-3', 'Deals: pipelines'],
  ['pipelines.customObjects', 'custom-pipelines', 'pipelines', 'customObjects', 'Pipelines of custom objects'],
  ['records.objectType', 'records/0-1', 'records', '0-1', 'Contacts: records'],
  ['records.customObjects', 'custom-records', 'records', 'customObjects', 'Records of custom objects'],
] as const

/** Of a label that is deleted the sandbox counts the old one for a while: no first count is below that of its scenario. */
const [FIRST, THEN] = [50, 97]

interface Account {
  polledAt: string | null
  notAvailable: string[]
  series: { id: string; usage: number }[]
}

test('a series of each new metric is told, kept, drawn, explained and checked; what a plan lacks is said and left alone', async (context) => {
  const scene = await sceneFor(context, { accounts: 1, tokenLifetimeMs: 600_000 })
  const sandboxUrl = scene.sandbox.url
  const tell = async (method: string, path: string, body: object) =>
    expect((await send(`${sandboxUrl}/sandbox/accounts${path}`, method, body)).status).toBeLessThan(300)
  const setAll = async (usage: number) => {
    for (const [, , path, key] of SERIES) await tell('PATCH', `/${FULL}/${path}`, { [key]: { usage, limit: 100 } })
  }
  for (const hubId of [FULL, LESS]) await tell('POST', '', { hubId, hubDomain: `acme-${hubId}.example.com` })
  await setAll(FIRST)
  await tell('PUT', `/${LESS}/plan`, { pipelines: 403, records: 404, associationLabels: 'empty' })

  const config = await scene.configFile({
    provider: { scopes: ['oauth', 'crm.objects.contacts.read', 'crm.schemas.custom.read'] },
    limits: { reports: 'all', every: '1s' },
    thresholds: SERIES.map(([on]) => ({ on, warning: { percent: 80 }, critical: { percent: 95 } })),
  })
  const daemon = await startDaemon(config)
  context.onTestFinished(() => daemon.kill())
  const { url } = daemon
  const printed = async (...args: string[]) => (await plimsollHere([...args, '--config', config], scene.folder)).out
  const accountOf = (hubId: number) => getJson<Account>(`${url}/api/v1/accounts/${hubId}`)
  const page = async (path: string) => (await ask(url + path)).text()
  const polled = (hubId: number, since: string | null) =>
    eventually(`account ${hubId} polled`, async () => {
      const account = await accountOf(hubId)
      return account.polledAt !== null && account.polledAt !== since && account
    })
  await connectAll(url, [FULL, LESS])
  const [, less] = await Promise.all([polled(FULL, null), polled(LESS, null)])
  await setAll(THEN)

  const told = await eventually('a webhook of each', async () => {
    const alerts = (await hooksOf(sandboxUrl)).flatMap(({ body }) => body.data.alerts)
    return new Set(alerts.map(({ series }) => series?.metric)).size === SERIES.length && alerts
  })
  for (const [metric, , , , name] of SERIES) {
    expect(told.filter(({ series }) => series?.metric === metric)).toMatchObject([
      { kind: 'limit', level: 'critical', reason: 'entered', usage: THEN, limit: 100, account: { hubId: FULL } },
    ])
    await eventually(`a mail of ${name}`, async () =>
      (await mailsOf(sandboxUrl)).some(({ text }) => text.includes(`${name}, ${THEN} of 100.\nNew: critical.`)),
    )
  }

  const snapshots = await getJson<{
    items: { series: { metric: string; from?: string; to?: string; objectTypeId?: string; usage: number }[] }[]
  }>(`${url}/api/v1/accounts/${FULL}/snapshots`)
  const [history, explained, checked] = await Promise.all([
    printed('accounts', 'history', String(FULL)),
    printed('alerts', 'explain', String(FULL)),
    printed('check', String(FULL)),
  ])
  for (const [metric, id, , , name] of SERIES) {
    const [, one, two] = id.split('/')
    const about = one === undefined ? {} : two === undefined ? { objectTypeId: one } : { from: one, to: two }
    const usages = snapshots.items.map(
      ({ series }) => series.find((item) => matches(item, { metric, ...about }))?.usage,
    )
    expect([id, [...new Set(usages)]]).toEqual([id, [FIRST, THEN]])
    for (const usage of [FIRST, THEN]) expect(history).toMatch(new RegExp(`${name} +${usage} +100 +${usage}\\n`))
    expect(explained).toContain(`${name} [${id}]\nreading     ${THEN} of 100`)
    expect(checked).toMatch(new RegExp(`critical .*${name} +${THEN} +100 +${THEN} +${metric}: from 95 %`))
    const drawn = await page(`/accounts/${FULL}/series?id=${encodeURIComponent(id)}&range=1h`)
    for (const part of [`Values of ${name}"`, `>usage ${THEN}</li>`]) expect(drawn).toContain(part)
  }
  expect(checked).toContain('critical=7 warning=0 unknown=0')

  await polled(LESS, less.polledAt)
  const entries = (await journalOf(sandboxUrl)).filter(({ hubId }) => hubId === LESS).map(({ endpoint }) => endpoint)
  expect(entries.filter((endpoint) => endpoint === 'customProperties').length).toBeGreaterThan(1)
  expect(entries.filter((endpoint) => LACKED.includes(endpoint)).sort()).toEqual(LACKED)
  expect((await accountOf(LESS)).notAvailable.toSorted()).toEqual(LACKED)
  const words = /[Nn]ot available for this account: association labels, pipelines, records/
  expect(await printed('accounts', 'show', String(LESS))).toMatch(words)
  expect(await page(`/accounts/${LESS}`)).toMatch(words)
  expect(await printed('check', String(LESS))).toContain('PLIMSOLL OK')
  const { items } = await getJson<{ items: { hubId: number | null }[] }>(`${url}/api/v1/alerts`)
  expect(items.filter(({ hubId }) => hubId !== FULL)).toEqual([])
})

function matches(item: object, wanted: object): boolean {
  return Object.entries(wanted).every(([field, value]) => (item as Record<string, unknown>)[field] === value)
}
