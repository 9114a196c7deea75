import { expect } from 'vitest'
import { ASSOCIATIONS as REPORT } from '../../provider/connect-client.ts'
import { HUB } from '../../sandbox/visit.ts'
import { bad, type Contract, type ContractCase, good, withExtras, without } from '../contract.ts'

/** Of a pair with so many records at and near its limit, and whose fullest record has this usage. */
const valuesOf = (
  atLimit: number,
  nearLimit: number,
  fullest: number,
  { limit = 500, from = '0-1', to = '0-2' } = {},
) => [
  { metric: 'associations.atLimit', from, to, usage: atLimit, limit: 0 },
  { metric: 'associations.nearLimit', from, to, usage: nearLimit, limit: 0 },
  { metric: 'associations.fullest', from, to, usage: fullest, limit },
]

const RECORDS = {
  atLimit: [{ label: 'Acme', objectId: 11 }],
  nearLimit: [
    { label: 'Globex', objectId: 12, usage: 482 },
    { label: 'Initech', objectId: 13, usage: 400 },
  ],
}
const READ = { values: valuesOf(1, 2, 500), records: RECORDS }

const EMPTY = {
  limit: 0,
  totalRecordsAtLimit: 0,
  totalRecordsNearLimit: 0,
  atLimitFromRecordSamples: [],
  nearLimitFromRecordSamples: [],
}

async function reported({ client, connect, report }: Contract, body: unknown) {
  const { access } = await connect()
  await report('associations/0-1/0-2', body)
  return client.associations(access, '0-1', '0-2')
}

/** Interface 4.5. How each part of a report is read is tested at the report. */
export const associations: ContractCase[] = [
  {
    says: 'an association report is read with its totals and samples',
    run: async (contract) => expect(good(await reported(contract, REPORT))).toEqual(READ),
  },
  {
    says: 'an association report of a pair without associations is empty, with a limit of 0',
    run: async (contract) => {
      const records = { atLimit: [], nearLimit: [] }
      expect(good(await reported(contract, EMPTY))).toEqual({ values: valuesOf(0, 0, 0, { limit: 0 }), records })
    },
  },
  {
    says: 'the two directions of a pair are two reports',
    run: async ({ client, connect, report }) => {
      const { access } = await connect()
      await report('associations/0-1/0-2', REPORT)
      await report('associations/0-2/0-1', { ...EMPTY, limit: 1 })
      expect(good(await client.associations(access, '0-1', '0-2'))).toEqual(READ)
      const other = valuesOf(0, 0, 0, { limit: 1, from: '0-2', to: '0-1' })
      expect(good(await client.associations(access, '0-2', '0-1'))).toMatchObject({ values: other })
    },
  },
  {
    says: 'object types may be named by anything: what needs escaping in a path is escaped',
    run: async ({ client, connect, report }) => {
      const { access } = await connect()
      const [from, to] = ['p_custom object/1', '2-123?x=%20#']
      await report(`associations/${encodeURIComponent(from)}/${encodeURIComponent(to)}`, REPORT)
      expect(good(await client.associations(access, from, to))).toEqual({
        values: valuesOf(1, 2, 500, { from, to }),
        records: RECORDS,
      })
    },
  },
  {
    says: 'object ids may be larger than a number can hold exactly: they are kept as text',
    run: async (contract) => {
      const withId = (objectId: string) => JSON.stringify(REPORT).replace('"objectId":11', `"objectId":${objectId}`)
      const readId = async (objectId: string) =>
        good(await reported(contract, withId(objectId))).records?.atLimit[0]?.objectId
      expect(await readId('9007199254740991')).toBe(9_007_199_254_740_991)
      expect(await readId('9007199254740993')).toBe('9007199254740993')
    },
  },
  {
    says: "an association report without a total can't be read, and the failure names the field",
    run: async (contract: Contract) => {
      const failure = bad(await reported(contract, without(REPORT, 'totalRecordsAtLimit')))
      expect(failure).toMatchObject({ class: 'transient', code: 'unreadable', status: 200 })
      expect(failure.message).toContain('totalRecordsAtLimit is missing')
    },
  },
  {
    says: 'an association report without any other field is read, and the gap names the field',
    run: async (contract: Contract) => {
      const { gaps } = good(await reported(contract, without(REPORT, 'nearLimitFromRecordSamples[1].usage')))
      expect(gaps).toEqual([expect.stringContaining('nearLimitFromRecordSamples[1].usage is missing')])
    },
  },
]

const busy = (objectTypeId: string, at: boolean, near: boolean) => ({
  objectTypeId,
  singularLabel: 'Contact',
  pluralLabel: 'Contacts',
  hasRecordsAtLimit: at,
  hasRecordsNearLimit: near,
})

const NAMED = { results: [busy('0-1', true, false), busy('2-77', false, true)] }
const NAMED_READ = [
  { objectTypeId: '0-1', hasRecordsAtLimit: true, hasRecordsNearLimit: false },
  { objectTypeId: '2-77', hasRecordsAtLimit: false, hasRecordsNearLimit: true },
]

const CALLS = {
  'the sources of associations': ({ client }: Contract, access: Parameters<Contract['client']['associations']>[0]) =>
    client.associationSources(access),
  'the targets of associations': ({ client }: Contract, access: Parameters<Contract['client']['associations']>[0]) =>
    client.associationTargets(access, '0-1'),
}

/** What the two companions of the limits endpoints answer; not every provider has them. */
export const associationCompanions: ContractCase[] = [
  {
    says: 'the companions name the object types that have records at or near a limit, first those from, then those to',
    run: async ({ client, connect, report }) => {
      const { access } = await connect()
      const put = (pair: string, at: number, near: number) =>
        report(`associations/${pair}`, { limit: 10, totalRecordsAtLimit: at, totalRecordsNearLimit: near })
      for (const pair of ['0-1/0-2', '0-2/0-1', '0-3/0-1']) await put(pair, 0, 0)
      await put('0-1/0-3', 3, 0)
      await put('2-9/0-3', 0, 1)
      expect(good(await client.associationSources(access))).toEqual([
        { objectTypeId: '0-1', hasRecordsAtLimit: true, hasRecordsNearLimit: false },
        { objectTypeId: '2-9', hasRecordsAtLimit: false, hasRecordsNearLimit: true },
      ])
      expect(good(await client.associationTargets(access, '0-1'))).toEqual([
        { objectTypeId: '0-3', hasRecordsAtLimit: true, hasRecordsNearLimit: false },
      ])
      expect(good(await client.associationTargets(access, '0-2'))).toEqual([])
    },
  },
  ...Object.entries(CALLS).flatMap(([name, call]): ContractCase[] => {
    const answered = async (contract: Contract, body: unknown) => {
      const { access } = await contract.connect(HUB)
      await contract.fault({ endpoint: 'companion', status: 200, body, times: 1 })
      return call(contract, access)
    }
    return [
      {
        says: `${name} with unknown fields at every depth read the same`,
        run: async (contract) => {
          expect(good(await answered(contract, NAMED))).toEqual(NAMED_READ)
          expect(good(await answered(contract, withExtras(NAMED)))).toEqual(NAMED_READ)
        },
      },
      {
        says: `${name} may be none`,
        run: async (contract) => expect(good(await answered(contract, { results: [] }))).toEqual([]),
      },
      {
        says: `${name} need no labels`,
        run: async (contract) => expect(good(await answered(contract, { results: NAMED_READ }))).toEqual(NAMED_READ),
      },
      ...['results', ...Object.keys(NAMED_READ[0] as object).map((field) => `results[1].${field}`)].map((field) => ({
        says: `${name} without ${field} can't be read, and the failure names the field`,
        run: async (contract: Contract) => {
          const failure = bad(await answered(contract, without(NAMED, field)))
          expect(failure).toMatchObject({ class: 'transient', code: 'unreadable', status: 200 })
          expect(failure.message).toContain(`${field} is missing`)
        },
      })),
    ]
  }),
]
