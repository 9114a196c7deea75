import { expect } from 'vitest'
import { bad, type Contract, type ContractCase, good, without } from '../contract.ts'

const CONTACTS = {
  limit: 1000,
  objectTypeId: '0-1',
  percentage: 12.3,
  pluralLabel: 'Contacts',
  singularLabel: 'Contact',
  usage: 123,
}
const REPORT = { overallLimit: 1000, overallUsage: 960, overallPercentage: 96, byObjectType: [CONTACTS] }

const OVERALL_READ = { metric: 'customProperties.overall', usage: 960, limit: 1000 }
const CONTACTS_READ = {
  metric: 'customProperties.objectType',
  objectTypeId: '0-1',
  label: 'Contacts',
  usage: 123,
  limit: 1000,
}
const READ = { values: [OVERALL_READ, CONTACTS_READ] }

async function reported({ client, connect, report }: Contract, body: unknown) {
  const { access } = await connect()
  await report('custom-properties', body)
  return client.customProperties(access)
}

/** Interface 4.6. How each part of a report is read is tested at the report. */
export const customProperties: ContractCase[] = [
  {
    says: 'a custom property report is read, overall and by object type',
    run: async (contract) => expect(good(await reported(contract, REPORT))).toEqual(READ),
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
      const failure = bad(await reported(contract, without(REPORT, 'overallUsage')))
      expect(failure).toMatchObject({ class: 'transient', code: 'unreadable', status: 200 })
      expect(failure.message).toContain('overallUsage is missing')
    },
  },
  {
    says: 'a custom property report without any other field is read, and the gap names the field',
    run: async (contract: Contract) => {
      const { gaps } = good(await reported(contract, without(REPORT, 'byObjectType[0].usage')))
      expect(gaps).toEqual([expect.stringContaining('byObjectType[0].usage is missing')])
    },
  },
]
