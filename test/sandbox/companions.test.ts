import { expect, test } from 'vitest'
import { HUB, visit } from './visit.ts'

const LIMITS = '/crm/v3/limits'

function report(at: number, near: number): object {
  return { limit: 10, totalRecordsAtLimit: at, totalRecordsNearLimit: near }
}

test('name the object types whose records are at or near a limit, as the reports have it', async () => {
  const { connect, call, read } = await visit()
  const { access_token: token } = await connect()
  for (const [pair, totals] of [
    ['0-1/0-2', report(0, 0)],
    ['0-1/0-3', report(3, 0)],
    ['0-2/0-1', report(0, 0)],
    ['0-3/0-1', report(0, 0)],
    ['2-9/0-1', report(0, 1)],
    ['2-9/0-3', report(0, 0)],
  ] as const) {
    await call('PUT', `/sandbox/accounts/${HUB}/associations/${pair}`, totals)
  }
  const contacts = { objectTypeId: '0-1', singularLabel: 'Contact', pluralLabel: 'Contacts' }
  const from = await read(`${LIMITS}/associations/records/from`, token)
  expect(await from.json()).toEqual({
    results: [
      { ...contacts, hasRecordsAtLimit: true, hasRecordsNearLimit: false },
      expect.objectContaining({ objectTypeId: '2-9', hasRecordsAtLimit: false, hasRecordsNearLimit: true }),
    ],
  })
  const fromContacts = await read(`${LIMITS}/associations/records/0-1/to`, token)
  expect(await fromContacts.json()).toEqual({
    results: [
      {
        objectTypeId: '0-3',
        singularLabel: 'Deal',
        pluralLabel: 'Deals',
        hasRecordsAtLimit: true,
        hasRecordsNearLimit: false,
      },
    ],
  })
  const fromCompanies = await read('/crm/limits/2026-03/associations/records/0-2/to', token)
  expect(await fromCompanies.json()).toEqual({ results: [] })
})

test.each([
  '/associations/labels?fromObjectTypeId=0-1',
  '/calculated-properties',
  '/custom-object-types',
  '/pipelines',
  '/records',
])('%s answers something, under the same rules', async (path) => {
  const { connect, read, call } = await visit()
  const { access_token: token } = await connect()
  const { access_token: poor } = await connect(HUB + 1, 'oauth')
  for (const base of [LIMITS, '/crm/limits/2026-03']) {
    expect((await read(`${base}${path}`, token)).status).toBe(200)
    expect((await read(`${base}${path}`, poor)).status).toBe(403)
    expect((await call('GET', `${base}${path}`)).status).toBe(401)
  }
})
