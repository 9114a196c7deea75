import { describe, expect, test } from 'vitest'
import { readRows } from '../../src/accounts/account-rows.ts'
import { changeContact } from '../../src/accounts/contact.ts'
import { importRows } from '../../src/accounts/import-accounts.ts'
import { readForExport } from '../../src/accounts/registry.ts'
import { readContacts } from '../../src/redis/read-contacts.ts'
import { HUB, worldOfFile } from '../support/world.ts'

const inWorld = worldOfFile()
const ADA = 'ada@acme.example.com'

async function world() {
  const w = await inWorld()
  const { registry } = w.services
  const bring = async (text: string, replace = false) => {
    const bytes = (async function* () {
      yield Buffer.from(text)
    })()
    const bad: string[] = []
    await importRows(w.services, readRows(bytes, 'a.csv'), {
      replace,
      stop: new AbortController().signal,
      onProgress: () => {},
      onBad: ({ problem }) => void bad.push(problem),
    })
    return bad
  }
  return { ...w, registry, bring, contact: async () => (await registry.get(HUB))?.contact }
}

describe("an account's own contact", () => {
  test('is set, changed and taken away, and of an account that is not there nothing is left', async () => {
    const { keys, store, services: of, account, contact } = await world()
    await account()
    expect(await contact()).toBeNull()
    expect(await changeContact(of, HUB, ADA)).toBe('changed')
    expect(await contact()).toBe(ADA)
    expect(await changeContact(of, HUB, null)).toBe('changed')
    expect(await contact()).toBeNull()
    expect(await changeContact(of, 9, ADA)).toBe('unknown')
    expect(await store.exists(keys.account(9).account)).toBe(0)
  })

  test('comes with a file, which takes none away, and leaves with one', async () => {
    const { store, keys, registry, bring, contact } = await world()
    const bad = await bring(`hubId,refreshToken,contact\n${HUB},t1,${ADA}\n5,t2,\n6,t3,"a@b.c,d@e.f"`)
    expect(bad).toEqual(['has a contact that is no e-mail address'])
    expect(await contact()).toBe(ADA)
    expect((await registry.get(5))?.contact).toBeNull()
    await bring(`hubId,refreshToken\n${HUB},t1`, true)
    expect(await contact()).toBe(ADA)
    const out: unknown[] = []
    for await (const some of readForExport(store, keys)) {
      out.push(...some.map((one) => [one.hubId, one.contact]))
    }
    expect(out.toSorted()).toEqual([
      [HUB, ADA],
      [5, ''],
    ])
  })

  test('of an account whose record is none keeps those of others from nobody', async () => {
    const { keys, store, services: of, account } = await world()
    await account({ hubId: 5 })
    await changeContact(of, 5, ADA)
    await store.set(keys.account(7).account, 'other type')
    expect([...(await readContacts(of, [5, 7]))]).toEqual([[5, ADA]])
  })
})
