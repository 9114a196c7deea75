import { expect } from 'vitest'
import { bad, type Contract, type ContractCase, good, withExtras, without } from '../contract.ts'

const CONTACTS = {
  limit: 1000,
  objectTypeId: '0-1',
  percentage: 12.3,
  pluralLabel: 'Contacts',
  singularLabel: 'Contact',
  usage: 123,
}
const REPORT = { overallLimit: 1000, overallUsage: 960, overallPercentage: 96, byObjectType: [CONTACTS] }

const READ = {
  overallLimit: 1000,
  overallUsage: 960,
  reportedPercentage: 96,
  byObjectType: [
    {
      objectTypeId: '0-1',
      singularLabel: 'Contact',
      pluralLabel: 'Contacts',
      limit: 1000,
      usage: 123,
      reportedPercentage: 12.3,
    },
  ],
}

async function reported({ client, connect, report }: Contract, body: unknown) {
  const { access } = await connect()
  await report('custom-properties', body)
  return client.customProperties(access)
}

/** Without it there is nothing to judge. */
const TOTAL = 'overallUsage'
const FIELDS = [
  ...Object.keys(REPORT).filter((field) => field !== TOTAL),
  ...Object.keys(CONTACTS).map((field) => `byObjectType[0].${field}`),
]

/** Interface 4.6. */
export const customProperties: ContractCase[] = [
  {
    says: 'a custom property report is read, overall and by object type',
    run: async (contract) => expect(good(await reported(contract, REPORT))).toEqual(READ),
  },
  {
    says: 'a custom property report with unknown fields at every depth reads the same',
    run: async (contract) => expect(good(await reported(contract, withExtras(REPORT)))).toEqual(READ),
  },
  {
    says: 'a custom property report may have no object types',
    run: async (contract) =>
      expect(good(await reported(contract, { ...REPORT, byObjectType: [] })).byObjectType).toEqual([]),
  },
  {
    says: 'a custom property report may be over its limit: usage and percentage are taken as they are',
    run: async (contract) => {
      const over = { ...REPORT, overallUsage: 1200, overallPercentage: 120 }
      expect(good(await reported(contract, over))).toEqual({ ...READ, overallUsage: 1200, reportedPercentage: 120 })
    },
  },
  {
    says: 'a custom property limit may be 0',
    run: async (contract) => {
      const none = { overallLimit: 0, overallUsage: 0, overallPercentage: 0, byObjectType: [{ ...CONTACTS, limit: 0 }] }
      const read = good(await reported(contract, none))
      expect([read.overallLimit, read.byObjectType[0]?.limit, read.byObjectType[0]?.usage]).toEqual([0, 0, 123])
    },
  },
  {
    says: 'custom property percentages may be fractions: they are kept as reported beside usage and limit',
    run: async (contract) => {
      const fractions = { ...REPORT, overallPercentage: 0.96, byObjectType: [{ ...CONTACTS, percentage: 0.123 }] }
      const read = good(await reported(contract, fractions))
      expect(read).toMatchObject({ overallUsage: 960, overallLimit: 1000, reportedPercentage: 0.96 })
      expect(read.byObjectType[0]).toMatchObject({ usage: 123, limit: 1000, reportedPercentage: 0.123 })
    },
  },
  {
    says: 'the limits of object types need not add up to the overall one',
    run: async (contract) => {
      const types = ['0-1', '0-2', '2-77'].map((objectTypeId) => ({ ...CONTACTS, objectTypeId }))
      const read = good(await reported(contract, { ...REPORT, byObjectType: types }))
      expect(read.byObjectType.map(({ objectTypeId }) => objectTypeId)).toEqual(['0-1', '0-2', '2-77'])
      expect(read.overallLimit).toBe(1000)
    },
  },
  {
    says: 'labels of object types may be empty, in any script, and huge: of those the beginning is kept',
    run: async (contract) => {
      const huge = { ...CONTACTS, singularLabel: 'ß'.repeat(100_000), pluralLabel: '' }
      const [type] = good(await reported(contract, { ...REPORT, byObjectType: [huge] })).byObjectType
      expect(type).toMatchObject({ singularLabel: 'ß'.repeat(255), pluralLabel: '' })
    },
  },
  {
    says: 'of thousands of object types 500 are kept, and the rest is counted',
    run: async (contract) => {
      const types = Array.from({ length: 5_000 }, (_, index) => ({ ...CONTACTS, objectTypeId: `2-${index}` }))
      const read = good(await reported(contract, { ...REPORT, byObjectType: types }))
      expect(read.byObjectType).toHaveLength(500)
      expect(read.typesLeftOut).toBe(4_500)
    },
  },
  {
    says: "a custom property report without its overall usage can't be read, and the failure names the field",
    run: async (contract) => {
      const failure = bad(await reported(contract, without(REPORT, TOTAL)))
      expect(failure).toMatchObject({ class: 'transient', code: 'unreadable', status: 200 })
      expect(failure.message).toContain(`${TOTAL} is missing`)
    },
  },
  ...FIELDS.map((field) => ({
    says: `a custom property report without ${field} is read, and the gap names the field`,
    run: async (contract: Contract) => {
      const { gaps } = good(await reported(contract, without(REPORT, field)))
      expect(gaps).toEqual([expect.stringContaining(`${field} is missing`)])
    },
  })),
]
