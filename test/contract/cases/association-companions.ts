import { expect } from 'vitest'
import { HUB } from '../../sandbox/visit.ts'
import { bad, type Contract, type ContractCase, good, withExtras, without } from '../contract.ts'

const busy = (objectTypeId: string, at: boolean, near: boolean) => ({
  objectTypeId,
  singularLabel: 'Contact',
  pluralLabel: 'Contacts',
  hasRecordsAtLimit: at,
  hasRecordsNearLimit: near,
})

const ANSWER = { results: [busy('0-1', true, false), busy('2-77', false, true)] }
const READ = [
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
          expect(good(await answered(contract, ANSWER))).toEqual(READ)
          expect(good(await answered(contract, withExtras(ANSWER)))).toEqual(READ)
        },
      },
      {
        says: `${name} may be none`,
        run: async (contract) => expect(good(await answered(contract, { results: [] }))).toEqual([]),
      },
      {
        says: `${name} need no labels`,
        run: async (contract) => expect(good(await answered(contract, { results: READ }))).toEqual(READ),
      },
      ...['results', ...Object.keys(READ[0] as object).map((field) => `results[1].${field}`)].map((field) => ({
        says: `${name} without ${field} can't be read, and the failure names the field`,
        run: async (contract: Contract) => {
          const failure = bad(await answered(contract, without(ANSWER, field)))
          expect(failure).toMatchObject({ class: 'transient', code: 'unreadable', status: 200 })
          expect(failure.message).toContain(`${field} is missing`)
        },
      })),
    ]
  }),
]
