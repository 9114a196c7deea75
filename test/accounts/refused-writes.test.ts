import { expect, onTestFinished, test } from 'vitest'
import { finishGrant } from '../../src/accounts/finish-grant.ts'
import { beginInstall, finishInstall } from '../../src/accounts/install.ts'
import type { ProviderClient } from '../../src/provider/client.ts'
import { isRedisAway, refusesWrites } from '../../src/redis/away.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { newGrantId, readGrant, takeIntent } from '../../src/tokens/parked-grants.ts'
import { PendingTokens } from '../../src/tokens/pending-tokens.ts'
import { openServer } from '../http/open-server.ts'
import { dump, seedAccount, storedTokens, vault } from '../support/accounts.ts'
import { CodeDoor } from '../support/endpoint.ts'
import { type FakeAnswers, tokens } from '../support/fake-provider.ts'
import { eventually } from '../support/fleet.ts'
import { memoryFile } from '../support/memory-file.ts'
import { serverOfFile } from '../support/of-file.ts'
import { openWorld } from '../support/world.ts'
import { HUB, metadata } from './connected.ts'

const redis = serverOfFile()
const refuse = async (is: boolean) => void (await redis.store.config('SET', 'min-replicas-to-write', is ? '1' : '0'))

/** A Redis that begins to refuse while the provider answers. */
async function begun(does: FakeAnswers) {
  const file = memoryFile()
  const w = await openWorld(redis, { provider: { metadata: async () => metadata(), ...does }, file })
  const { services: finish, keys, clock, logged } = w
  onTestFinished(() => refuse(false))
  const install = { installUrl: 'https://x.example/a', clientId: 'c', redirectUri: 'https://y.example/cb' }
  const url = beginInstall(vault, { ...install, scopes: ['oauth'], optionalScopes: [] }, clock.now())
  const redirect = { code: 'code-1', state: new URL(url).searchParams.get('state') ?? '' }
  const id = redirect.state.split('.')[0] ?? ''
  const kept = async () => Object.keys(await dump(redis.store, keys)).filter((key) => /:(due:grant$|grant:)/.test(key))
  const sealedTokens = () => {
    finish.pending.seal()
    return file.tokens.map(({ refresh }) => refresh?.reveal())
  }
  /** Redis takes writes again, and has the grant. */
  const taken = async (grant = id) => {
    await refuse(false)
    await eventually('the grant', async () => {
      clock.move(250)
      return !finish.pending.has(grant)
    })
  }
  return {
    deps: { ...finish, endpoint: new CodeDoor() },
    finish,
    keys,
    clock,
    logged,
    redirect,
    id,
    kept,
    sealedTokens,
    taken,
  }
}

const granted = async (owner?: object) => {
  await refuse(true)
  const answer = tokens('access-new', 'refresh-new')
  return { ...answer, value: { ...answer.value, ...owner } } as never
}

test.each([
  ['by the metadata', undefined],
  ['with the tokens', { owner: { hubId: HUB, scopes: ['oauth'] } }],
])(
  'an install that Redis refuses once its code is spent is finished when it takes writes: owner told %s',
  async (_, owner) => {
    const { deps, finish, keys, clock, redirect, id, kept, sealedTokens, taken } = await begun({
      exchangeCode: () => granted(owner),
      refresh: async () => tokens('access-newer', 'refresh-new'),
    })
    await seedAccount(redis.store, keys, { obtainedAt: clock.now() - 60_000, refreshToken: 'refresh-old' })
    expect(await finishInstall(deps, redirect)).toEqual({ is: 'unstored' })
    expect(await kept()).toEqual([])
    // A process that is killed now leaves it sealed.
    clock.move(5_000)
    expect(sealedTokens()).toEqual(['refresh-new'])

    await taken()
    expect([await kept(), sealedTokens()]).toEqual([[expect.any(String), expect.any(String)], []])
    expect(await finishGrant(finish, id, clock.stopwatch())).toBe('connected')
    expect(await storedTokens(redis.store, keys)).toMatchObject({ refresh: 'refresh-new' })
    expect([await kept(), deps.pending.has(id)]).toEqual([[], false])
  },
)

test('a customer who asks again is connected as soon as Redis takes writes, and one who hurries breaks nothing', async () => {
  const { deps, keys, redirect, clock, kept, taken } = await begun({ exchangeCode: () => granted() })
  expect(await finishInstall(deps, redirect)).toEqual({ is: 'unstored' })
  expect(await finishInstall(deps, redirect)).toEqual({ is: 'unstored' })
  await refuse(false)
  const outcomes = await clock.pass(Promise.all([finishInstall(deps, redirect), finishInstall(deps, redirect)]))
  expect(outcomes.map(({ is }) => is)).toEqual(['connected', 'shown-again'])
  expect(await storedTokens(redis.store, keys)).toMatchObject({ refresh: 'refresh-new' })
  expect(await finishInstall(deps, redirect)).toMatchObject({ is: 'shown-again', success: { is: 'connected' } })
  // What was tried since the first visit does not come as an install of its own, later than an uninstall since.
  await taken()
  expect(await kept()).toEqual([])
})

test('older tokens of a grant that are stored late do not take the place of newer ones', async () => {
  const { deps, clock } = await begun({})
  const grant = { hubId: 0, id: newGrantId(), grantedAt: clock.now(), only: undefined } as const
  const times = { obtainedAt: clock.now(), expiresAt: clock.now() + 1_800_000 }
  // By another daemon: for this one they would be newer ones.
  const park = (name: string, version: number) => {
    const given = { access: new Secret(`access-${name}`), refresh: new Secret(`refresh-${name}`), version }
    const pending = new PendingTokens({ ...deps, file: memoryFile() })
    return pending.park({ ...grant, ...given, times }, clock.now())
  }
  const version = await takeIntent(deps)
  expect([await park('1', version), await park('2', version + 1), await park('1', version)]).toEqual([
    'parked',
    'parked',
    'gone',
  ])
  expect((await readGrant(deps, grant.id))?.grant.refresh.reveal()).toBe('refresh-2')
})

test('the rotated token of a parked grant that Redis refuses is kept, and the one before is not redeemed again', async () => {
  const { deps, finish, clock, keys, sealedTokens, taken } = await begun({ refresh: () => granted() })
  const grant = { hubId: 0, id: newGrantId(), grantedAt: clock.now(), only: undefined } as const
  const given = { access: tokens('a').value.accessToken, refresh: tokens('a').value.accessToken }
  const times = { obtainedAt: clock.now(), expiresAt: clock.now() + 1_000 }
  await deps.pending.park({ ...grant, ...given, times, version: await takeIntent(deps) }, clock.now())
  clock.move(10_000)
  expect(await finishGrant(finish, grant.id, clock.stopwatch())).toBe('later')
  expect(await finishGrant(finish, grant.id, clock.stopwatch())).toBe('later')
  clock.move(5_000)
  expect(sealedTokens()).toEqual(['refresh-new'])
  await taken(grant.id)
  expect((await readGrant(deps, grant.id))?.grant.refresh.reveal()).toBe('refresh-new')
  expect(await finishGrant(finish, grant.id, clock.stopwatch())).toBe('connected')
  expect(await storedTokens(redis.store, keys)).toMatchObject({ refresh: 'refresh-new' })
})

test('an account that a failover lost right after its install is connected from the grant', async () => {
  const { deps, finish, clock, keys, redirect, id, kept } = await begun({
    exchangeCode: async () => tokens('access-new', 'refresh-new'),
  })
  expect(await finishInstall(deps, redirect)).toMatchObject({ is: 'connected' })
  await redis.store.del(...(await redis.store.keys(`{${keys.prefix}}:*`)))
  await deps.pending.storeAgain()
  expect(await finishGrant(finish, id, clock.stopwatch())).toBe('connected')
  expect(await storedTokens(redis.store, keys)).toMatchObject({ refresh: 'refresh-new' })
  // Nothing was lost: the provider is not asked.
  await deps.pending.storeAgain()
  const unasked = { ...finish, provider: {} as ProviderClient }
  expect([await finishGrant(unasked, id, clock.stopwatch()), await kept()]).toEqual(['gone', []])
})

test('the page of an install that Redis refuses says that it will be finished', async () => {
  const { ask, beginInstall, provider, logs } = await openServer(redis)
  provider.customer = { hubId: 123 }
  const exchange = provider.exchangeCode.bind(provider)
  provider.exchangeCode = async (code) => {
    await refuse(true)
    return exchange(code)
  }
  onTestFinished(() => refuse(false))
  const { status, headers, text } = await ask('GET', `/oauth/callback?code=code-1&state=${await beginInstall()}`)
  expect([status, headers['retry-after']]).toEqual([503, '30'])
  expect(text).toContain('<h1>Almost connected</h1>')
  expect(logs.lines()).toContainEqual(expect.objectContaining({ level: 'error', code: 'install.unstored' }))
})

test('what a transaction was refused with counts, and not that it was given up', async () => {
  const refused = (...command: string[]) => {
    const transaction = redis.store.multi()
    for (const word of command) transaction.hset(word, 'field', 'value')
    return transaction.exec().catch((error: unknown) => error)
  }
  await refuse(true)
  onTestFinished(() => refuse(false))
  const error = await refused('a', 'b')
  expect([(error as Error).message, isRedisAway(error), refusesWrites(error)]).toEqual([
    expect.stringMatching(/^EXECABORT /),
    true,
    true,
  ])
  const wrong = await redis.store
    .multi()
    .call('HSET', 'a')
    .exec()
    .catch((cause: unknown) => cause)
  expect([(wrong as Error).message, isRedisAway(wrong)]).toEqual([expect.stringMatching(/^EXECABORT /), false])
})

test.each([
  ...['NOREPLICAS', 'READONLY', 'MISCONF', 'OOM'].map((word) => [word, true, true] as const),
  ...['LOADING', 'MASTERDOWN', 'CLUSTERDOWN', 'TRYAGAIN', 'BUSY'].map((word) => [word, true, false] as const),
  ...['WRONGTYPE', 'NOPERM', 'ERR'].map((word) => [word, false, false] as const),
])('an error with %s is one of a Redis that is away: %s, and that takes no writes: %s', (word, isAway, refuses) => {
  const ofStep = `ERR Error running script (call to f_5f): @user_script:7: @user_script: 7: -${word} some words`
  for (const message of [`${word} some words`, ofStep]) {
    const error = new Error(message)
    expect([isRedisAway(error), refusesWrites(error)]).toEqual([isAway, refuses])
  }
})
