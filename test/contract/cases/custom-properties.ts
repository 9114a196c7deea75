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

const OVERALL_READ = { metric: 'customProperties.overall', usage: 960, limit: 1000, reported: 96 }
const CONTACTS_READ = {
  metric: 'customProperties.objectType',
  objectTypeId: '0-1',
  label: 'Contacts',
  ...{ usage: 123, limit: 1000, reported: 12.3 },
}
const READ = { values: [OVERALL_READ, CONTACTS_READ] }

async function reported({ client, connect, report }: Contract, body: unknown) {
  const { access } = await connect()
  await report('custom-properties', body)
  return client.customProperties(access)
}

/** Without it there is nothing to judge. */
const TOTAL = 'overallUsage'
/** Nothing is made of it. */
const NEEDLESS = 'singularLabel'
const FIELDS = [
  ...Object.keys(REPORT).filter((field) => field !== TOTAL),
  ...Object.keys(CONTACTS)
    .filter((field) => field !== NEEDLESS)
    .map((field) => `byObjectType[0].${field}`),
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
      expect(good(await reported(contract, { ...REPORT, byObjectType: [] }))).toEqual({ values: [OVERALL_READ] }),
  },
  {
    says: 'a custom property report may be over its limit: usage and percentage are taken as they are',
    run: async (contract) => {
      const over = { ...REPORT, overallUsage: 1200, overallPercentage: 120 }
      expect(good(await reported(contract, over))).toEqual({
        values: [{ ...OVERALL_READ, usage: 1200, reported: 120 }, CONTACTS_READ],
      })
    },
  },
  {
    says: 'a custom property limit may be 0',
    run: async (contract) => {
      const none = { overallLimit: 0, overallUsage: 0, overallPercentage: 0, byObjectType: [{ ...CONTACTS, limit: 0 }] }
      const read = good(await reported(contract, none))
      expect(read.values.map(({ usage, limit }) => [usage, limit])).toEqual([
        [0, 0],
        [123, 0],
      ])
    },
  },
  {
    says: 'custom property percentages may be fractions: they are kept as reported beside usage and limit',
    run: async (contract) => {
      const fractions = { ...REPORT, overallPercentage: 0.96, byObjectType: [{ ...CONTACTS, percentage: 0.123 }] }
      const read = good(await reported(contract, fractions))
      expect(read.values).toEqual([
        { ...OVERALL_READ, reported: 0.96 },
        { ...CONTACTS_READ, reported: 0.123 },
      ])
    },
  },
  {
    says: 'the limits of object types need not add up to the overall one',
    run: async (contract) => {
      const types = ['0-1', '0-2', '2-77'].map((objectTypeId) => ({ ...CONTACTS, objectTypeId }))
      const read = good(await reported(contract, { ...REPORT, byObjectType: types }))
      expect(read.values).toEqual([
        OVERALL_READ,
        ...['0-1', '0-2', '2-77'].map((objectTypeId) => ({ ...CONTACTS_READ, objectTypeId })),
      ])
    },
  },
  {
    says: 'labels of object types may be empty, in any script, and huge: of those the beginning is kept',
    run: async (contract) => {
      const types = ['ß'.repeat(100_000), ''].map((pluralLabel, n) => ({
        ...CONTACTS,
        objectTypeId: `0-${n}`,
        pluralLabel,
      }))
      const { values } = good(await reported(contract, { ...REPORT, byObjectType: types }))
      expect(values.slice(1).map(({ label }) => label)).toEqual(['ß'.repeat(255), ''])
    },
  },
  {
    says: 'of thousands of object types 500 are kept, and the rest is counted',
    run: async (contract) => {
      const types = Array.from({ length: 5_000 }, (_, index) => ({ ...CONTACTS, objectTypeId: `2-${index}` }))
      const read = good(await reported(contract, { ...REPORT, byObjectType: types }))
      expect(read.values.filter(({ objectTypeId }) => objectTypeId !== undefined)).toHaveLength(500)
      expect(read.leftOut).toBe(4_500)
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
  {
    says: `a custom property report without byObjectType[0].${NEEDLESS} reads the same`,
    run: async (contract) =>
      expect(good(await reported(contract, without(REPORT, `byObjectType[0].${NEEDLESS}`)))).toEqual(READ),
  },
  ...FIELDS.map((field) => ({
    says: `a custom property report without ${field} is read, and the gap names the field`,
    run: async (contract: Contract) => {
      const { gaps } = good(await reported(contract, without(REPORT, field)))
      expect(gaps).toEqual([expect.stringContaining(`${field} is missing`)])
    },
  })),
]
