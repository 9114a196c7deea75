import { describe, expect, test } from 'vitest'
import { readRows } from '../../src/accounts/account-rows.ts'
import { changeContact } from '../../src/accounts/contact.ts'
import { importAccounts } from '../../src/accounts/import-accounts.ts'
import { exportAccounts, Registry } from '../../src/accounts/registry.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { readContacts } from '../../src/redis/read-contacts.ts'
import { seedAccount, vault } from '../support/accounts.ts'
import { HandClock } from '../support/hand-clock.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const HUB = 123
const ADA = 'ada@acme.example.com'

function bring(keys: Keys, text: string, replace = false) {
  const bytes = (async function* () {
    yield Buffer.from(text)
  })()
  const bad: string[] = []
  const deps = { store: redis.store, keys, vault, clock: new HandClock() }
  const options = { replace, stop: new AbortController().signal, onProgress: () => {} }
  const done = importAccounts(deps, readRows(bytes, 'a.csv'), {
    ...options,
    onBad: ({ problem }) => void bad.push(problem),
  })
  return done.then(() => bad)
}

function world() {
  const keys = redis.freshKeys()
  const of = { store: redis.store, keys }
  const registry = new Registry(redis.store, keys)
  return { keys, of, registry, contact: async () => (await registry.get(HUB))?.contact }
}

describe("an account's own contact", () => {
  test('is set, changed and taken away, and of an account that is not there nothing is left', async () => {
    const { keys, of, contact } = world()
    await seedAccount(redis.store, keys, { hubId: HUB, obtainedAt: 1 })
    expect(await contact()).toBeNull()
    expect(await changeContact(of, HUB, ADA)).toBe('changed')
    expect(await contact()).toBe(ADA)
    expect(await changeContact(of, HUB, null)).toBe('changed')
    expect(await contact()).toBeNull()
    expect(await changeContact(of, 9, ADA)).toBe('unknown')
    expect(await redis.store.exists(keys.account(9).account)).toBe(0)
  })

  test('comes with a file, which takes none away, and leaves with one', async () => {
    const { keys, of, registry, contact } = world()
    const bad = await bring(keys, `hubId,refreshToken,contact\n${HUB},t1,${ADA}\n5,t2,\n6,t3,"a@b.c,d@e.f"`)
    expect(bad).toEqual(['has a contact that is no e-mail address'])
    expect(await contact()).toBe(ADA)
    expect((await registry.get(5))?.contact).toBeNull()
    await bring(keys, `hubId,refreshToken\n${HUB},t1`, true)
    expect(await contact()).toBe(ADA)
    const out: unknown[] = []
    for await (const some of exportAccounts(of.store, keys)) {
      out.push(...some.map((one) => [one.hubId, one.contact]))
    }
    expect(out.toSorted()).toEqual([
      [HUB, ADA],
      [5, ''],
    ])
  })

  test('that is none is not believed: the account is shown without it, and named as unreadable', async () => {
    const { keys, of, registry } = world()
    await seedAccount(redis.store, keys, { hubId: HUB, obtainedAt: 1 })
    await seedAccount(redis.store, keys, { hubId: 5, obtainedAt: 1 })
    await changeContact(of, 5, ADA)
    await redis.store.hset(keys.account(HUB).account, 'contact', 'ada@acme.example.com\r\nBcc: eve@evil.example')
    expect(await registry.get(HUB)).toMatchObject({ contact: null, unreadable: ['contact'] })
    await redis.store.set(keys.account(7).account, 'other type')
    expect([...(await readContacts(of, [5, HUB, 7]))]).toEqual([[5, ADA]])
  })
})
