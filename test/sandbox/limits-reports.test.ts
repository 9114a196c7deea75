import { describe, expect, test } from 'vitest'
import { HUB, type Visit, visit } from './visit.ts'

const BASES = ['/crm/v3/limits', '/crm/limits/2026-03', '/crm/limits/2026-09']
const SCOPES = 'oauth crm.objects.contacts.read crm.schemas.custom.read'
const PATHS = [
  '/custom-properties',
  '/associations/records/0-1/0-2',
  '/associations/labels',
  '/calculated-properties',
  '/custom-object-types',
  '/pipelines',
  '/records',
]

const number = expect.any(Number)
const text = expect.any(String)
const type = { objectTypeId: text, singularLabel: text, pluralLabel: text }
const used = { limit: number, usage: number, percentage: number }
const overall = { overallLimit: number, overallUsage: number, overallPercentage: number }

type Json = Record<string, unknown> & { results: Json[]; byObjectType: Json[]; hubspotDefinedObjectTypes: Json[] }

/** A connected account of a sandbox, its reports, and what changes them. */
async function reports(
  options?: Parameters<typeof visit>[0],
): Promise<Visit & { report(path: string, hubId?: number): Promise<Json>; set: SetReport; token: string }> {
  const world = await visit(options)
  const tokens = new Map<number, string>()
  const tokenOf = async (hubId: number) => {
    const token = tokens.get(hubId) ?? (await world.connect(hubId, SCOPES)).access_token
    tokens.set(hubId, token)
    return token
  }
  return {
    ...world,
    token: await tokenOf(HUB),
    report: async (path, hubId = HUB) => {
      const answer = await world.read(`${BASES[0]}${path}`, await tokenOf(hubId))
      expect(answer.status).toBe(200)
      return (await answer.json()) as Json
    },
    set: async (method, path, body, hubId = HUB) => {
      const answer = await world.call(method, `/sandbox/accounts/${hubId}${path}`, body)
      expect(answer.status).toBe(204)
    },
  }
}

type SetReport = (method: 'PUT' | 'PATCH', path: string, body: object, hubId?: number) => Promise<void>

describe('every field is there', () => {
  const each = (list: Json[] | undefined, item: object) => {
    expect(list?.length).toBeGreaterThan(0)
    for (const one of list ?? []) expect(one).toEqual(item)
  }

  test('in association labels, of which each direction is an entry', async () => {
    const { report } = await reports()
    const { results, ...rest } = await report('/associations/labels')
    expect(rest).toEqual({})
    each(results, { fromObjectType: type, toObjectType: type, allLabels: expect.any(Array), ...used })
    for (const { allLabels, usage } of results) expect(new Set(allLabels as string[]).size).toBe(usage)
    const pairs = results.map(({ fromObjectType, toObjectType }) => [fromObjectType, toObjectType])
    expect(pairs).toContainEqual([
      { objectTypeId: '0-1', singularLabel: 'Contact', pluralLabel: 'Contacts' },
      { objectTypeId: '0-2', singularLabel: 'Company', pluralLabel: 'Companies' },
    ])
    expect(pairs).toEqual(expect.arrayContaining(pairs.map(([from, to]) => [to, from])))
  })

  test('in calculated properties, which have no limit for each type', async () => {
    const { report } = await reports()
    const { byObjectType, ...rest } = await report('/calculated-properties')
    expect(rest).toEqual(overall)
    each(byObjectType, { ...type, usage: number })
    expect(byObjectType.reduce((sum, { usage }) => sum + Number(usage), 0)).toBe(rest.overallUsage)
  })

  test('in custom object types', async () => {
    const { report } = await reports()
    expect(await report('/custom-object-types')).toEqual({ limit: 10, usage: 4, percentage: 40 })
  })

  test.each([
    ['/pipelines', { '0-3': 100, '0-5': 100, '0-123': 50 }, 100],
    ['/records', { '0-1': 15_000_000, '0-2': 15_000_000, '0-3': 15_000_000, '0-5': 15_000_000 }, 1_500_000],
  ])('in %s, by the origin of the types', async (path, limits, customLimit) => {
    const { report } = await reports()
    const { hubspotDefinedObjectTypes, customObjectTypes, ...rest } = await report(path)
    expect(rest).toEqual({})
    each(hubspotDefinedObjectTypes, { ...type, ...used })
    const given = hubspotDefinedObjectTypes.map(({ objectTypeId, limit }) => [objectTypeId, limit])
    expect(Object.fromEntries(given)).toEqual(limits)
    const { byObjectType, ...sum } = customObjectTypes as Json
    expect(sum).toEqual({ ...overall, overallLimit: customLimit })
    each(byObjectType, { ...type, usage: number })
    expect(byObjectType.reduce((all, { usage }) => all + Number(usage), 0)).toBe(sum.overallUsage)
  })

  test.each(PATHS)('in %s, to the letter the same in every version, with the headers of the rate', async (path) => {
    const { read, token } = await reports()
    const answers = await Promise.all(BASES.map((base) => read(`${base}${path}`, token)))
    expect(new Set(await Promise.all(answers.map((answer) => answer.text()))).size).toBe(1)
    for (const { headers, status } of answers) {
      expect(status).toBe(200)
      expect(headers.get('x-hubspot-ratelimit-max')).toBe('110')
      expect(headers.get('x-hubspot-ratelimit-interval-milliseconds')).toBe('10000')
    }
    const left = answers.map(({ headers }) => headers.get('x-hubspot-ratelimit-remaining'))
    expect(left.toSorted()).toEqual(['107', '108', '109'])
  })
})

describe('who may read', () => {
  test.each(PATHS)('%s: nobody without a token or without scopes', async (path) => {
    const { connect, read, call } = await visit()
    const { access_token: poor } = await connect(HUB, 'oauth')
    for (const base of BASES) {
      expect((await call('GET', `${base}${path}`)).status).toBe(401)
      const answer = await read(`${base}${path}`, poor)
      expect(answer.status).toBe(403)
      expect(await answer.json()).toMatchObject({ category: 'MISSING_SCOPES' })
    }
  })

  test.each([
    ['crm.objects.contacts.read', 403, 200],
    ['crm.objects.custom.read', 200, 200],
    ['crm.objects.custom.write', 200, 200],
    ['crm.objects.custom.sensitive.read.v2', 200, 200],
    ['crm.objects.custom.highly_sensitive.write.v2', 200, 200],
    ['crm.objects.companies.sensitive.read.v2', 403, 200],
    ['crm.schemas.custom.read', 200, 403],
    ['crm.schemas.custom.write', 200, 403],
    ['crm.schemas.contacts.read', 403, 403],
  ])('%s: custom object types %i, pipelines %i', async (scope, ofTypes, ofPipelines) => {
    const { connect, read } = await visit()
    const { access_token: token } = await connect(HUB, `oauth ${scope}`)
    for (const base of BASES) {
      const types = await read(`${base}/custom-object-types`, token)
      expect(types.status).toBe(ofTypes)
      if (ofTypes === 403) {
        expect(await types.json()).toMatchObject({
          category: 'MISSING_SCOPES',
          errors: [{ context: { requiredScopes: expect.arrayContaining(['crm.schemas.custom.read']) } }],
        })
      }
      expect((await read(`${base}/pipelines`, token)).status).toBe(ofPipelines)
    }
  })

  test.each(['crm.objects.calls.read', 'crm.objects.tasks.read', 'crm.objects.tickets.sensitive.read'])(
    '%s is enough in v3 and 2026-03, no more in 2026-09',
    async (scope) => {
      const { connect, read } = await visit()
      const { access_token: token } = await connect(HUB, `oauth ${scope}`)
      const statuses = BASES.map(async (base) => (await read(`${base}/custom-properties`, token)).status)
      expect(await Promise.all(statuses)).toEqual([200, 200, 403])
    },
  )
})

describe('counts that were set', () => {
  test('are answered with their percentage; the rest stays', async () => {
    const { report, set } = await reports()
    const before = await report('/pipelines')
    await set('PATCH', '/pipelines', { '0-3': { usage: 97 }, customObjects: { usage: 3, limit: 4 } })
    const after = await report('/pipelines')
    expect(after.hubspotDefinedObjectTypes[0]).toMatchObject({ objectTypeId: '0-3', ...of(97, 100, 97) })
    expect(after.hubspotDefinedObjectTypes.slice(1)).toEqual(before.hubspotDefinedObjectTypes.slice(1))
    expect(after.customObjectTypes).toMatchObject({ overallUsage: 3, overallLimit: 4, overallPercentage: 75 })

    await set('PATCH', '/records', { '0-1': { usage: 188 }, '0-46': { usage: 12, limit: 10 } })
    const { hubspotDefinedObjectTypes: types } = await report('/records')
    expect(types[0]).toMatchObject({ objectTypeId: '0-1', ...of(188, 15_000_000, 0.001) })
    expect(types.at(-1)).toMatchObject({ objectTypeId: '0-46', ...of(12, 10, 120) })

    await set('PATCH', '/calculated-properties', { overall: { usage: 190 }, '0-1': { usage: 80 } })
    const calculated = await report('/calculated-properties')
    expect(calculated).toMatchObject({ overallUsage: 190, overallLimit: 200, overallPercentage: 95 })
    expect(calculated.byObjectType[0]).toMatchObject({ objectTypeId: '0-1', usage: 80 })

    await set('PATCH', '/custom-object-types', { overall: { usage: 0, limit: 0 } })
    expect(await report('/custom-object-types')).toEqual(of(0, 0, 0))
    await set('PATCH', '/custom-properties', { overall: { usage: 9_700 }, '0-1': { limit: 500, usage: 500 } })
    const properties = await report('/custom-properties')
    expect(properties).toMatchObject({ overallUsage: 9_700, overallPercentage: 97 })
    expect(properties.byObjectType[0]).toMatchObject({ objectTypeId: '0-1', ...of(500, 500, 100) })
  })

  test('are of one account and report; a whole report in their place is answered to the letter', async () => {
    const { report, set, call, read, token } = await reports()
    const other = await report('/records', HUB + 1)
    await set('PATCH', '/records', { '0-1': { usage: 7 } })
    expect(await report('/records', HUB + 1)).toEqual(other)
    await set('PUT', '/records', { surprise: null })
    expect(await (await read('/crm/limits/2026-09/records', token)).text()).toBe('{"surprise":null}')
    await set('PATCH', '/records', { '0-2': { usage: 8 } })
    const { hubspotDefinedObjectTypes: types } = await report('/records')
    expect(types.slice(0, 2)).toMatchObject([{ usage: 7 }, { usage: 8 }])
    expect((await call('PATCH', '/sandbox/accounts/7/records', {})).status).toBe(404)
  })

  test('stay while the others climb', async () => {
    const { report, set, clock } = await reports({ scenario: 'climbing' })
    await set('PATCH', '/pipelines', { '0-3': { usage: 5 } })
    const usages = async () => (await report('/pipelines')).hubspotDefinedObjectTypes.map(({ usage }) => usage)
    const [set5, ...start] = await usages()
    clock.move(22_000)
    const [still5, ...late] = await usages()
    expect([set5, still5]).toEqual([5, 5])
    expect(late).not.toEqual(start)
  })
})

function of(usage: number, limit: number, percentage: number): object {
  return { usage, limit, percentage }
}

describe('a report that the plan of an account lacks', () => {
  test('is answered with 403, 404 or nothing, after token, scopes and rate; the others are as before', async () => {
    const { set, read, report, token, connect } = await reports()
    await set('PUT', '/plan', { associationLabels: 403, calculatedProperties: 404, customObjectTypes: 'empty' })
    const labels = await read('/crm/v3/limits/associations/labels', token)
    expect(labels.status).toBe(403)
    expect(labels.headers.get('x-hubspot-ratelimit-remaining')).toBe('109')
    expect(await labels.json()).toEqual({
      status: 'error',
      category: 'FORBIDDEN',
      correlationId: text,
      message: text,
    })
    const calculated = await read('/crm/limits/2026-09/calculated-properties', token)
    expect(calculated.status).toBe(404)
    expect(await calculated.json()).toMatchObject({ category: 'OBJECT_NOT_FOUND' })
    expect(await report('/custom-object-types')).toEqual({})
    expect(await report('/records')).toHaveProperty('customObjectTypes')
    expect((await report('/associations/labels', HUB + 1)).results).not.toEqual([])
    const { access_token: poor } = await connect(HUB, 'oauth')
    expect(await (await read('/crm/v3/limits/calculated-properties', poor)).json()).toMatchObject({
      category: 'MISSING_SCOPES',
    })

    await set('PUT', '/plan', { pipelines: 404 })
    expect(await report('/custom-object-types')).toHaveProperty('usage')
    expect((await read('/crm/v3/limits/pipelines', token)).status).toBe(404)
    await set('PUT', '/plan', {})
    expect(await report('/pipelines')).toHaveProperty('customObjectTypes')
  })
})

test('each has a name in the journal, which faults go by', async () => {
  const { read, token, call, journal } = await reports()
  await call('POST', '/sandbox/faults', { endpoint: 'records', hubId: HUB, status: 403, times: 1 })
  const statuses = []
  for (const path of [...PATHS, '/records']) statuses.push((await read(`/crm/v3/limits${path}`, token)).status)
  expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 403, 200])
  const names =
    'customProperties associations associationLabels calculatedProperties customObjectTypes pipelines records records'.split(
      ' ',
    )
  const entries = (await journal(`?hubId=${HUB}`)).filter(({ method }) => method === 'GET')
  expect(entries.map(({ endpoint }) => endpoint)).toEqual(names)
})
