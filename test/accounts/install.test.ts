import { describe, expect, test } from 'vitest'
import { beginInstall, finishInstall, type InstallSettings, installUrl } from '../../src/accounts/install.ts'
import { dump } from '../support/accounts.ts'
import { failure, tokens } from '../support/fake-provider.ts'
import { useRedis } from '../support/test-store.ts'
import { metadata, office } from './connected.ts'

const redis = useRedis()

const SETTINGS: InstallSettings = {
  installUrl: 'https://app.hubspot.com/oauth/authorize',
  clientId: 'client id+1',
  redirectUri: 'https://plimsoll.example.com/oauth/callback?x=1&y=2',
  scopes: ['oauth', 'crm.objects.contacts.read'],
  optionalScopes: ['tickets', 'e-commerce'],
}

describe('the install address', () => {
  test('carries what the page needs, the scopes under both of their names', () => {
    const url = new URL(installUrl(SETTINGS, 'a-state'))
    expect(`${url.origin}${url.pathname}`).toBe('https://app.hubspot.com/oauth/authorize')
    expect([...url.searchParams]).toEqual([
      ['client_id', 'client id+1'],
      ['redirect_uri', SETTINGS.redirectUri],
      ['scopes', 'oauth crm.objects.contacts.read'],
      ['scope', 'oauth crm.objects.contacts.read'],
      ['optional_scopes', 'tickets e-commerce'],
      ['optional_scope', 'tickets e-commerce'],
      ['state', 'a-state'],
    ])
  })

  test('writes spaces as %20 and a plus as %2B', () => {
    const url = installUrl(SETTINGS, 'a-state')
    expect(url).toContain('scope=oauth%20crm.objects.contacts.read&')
    expect(url).toContain('client_id=client%20id%2B1&')
    expect(url).not.toContain('+')
  })

  test('leaves optional scopes out where there are none, and keeps what the address has of its own', () => {
    const url = installUrl({ ...SETTINGS, installUrl: 'https://x.test/a?region=eu1', optionalScopes: [] }, 's')
    expect(url).not.toContain('optional')
    expect(url).toMatch(/^https:\/\/x\.test\/a\?region=eu1&client_id=/)
  })

  test('has a state that nobody can guess, another one every time, good for an hour', async () => {
    const keys = redis.freshKeys()
    const stateOf = async () => new URL(await beginInstall(redis.store, keys, SETTINGS)).searchParams.get('state') ?? ''
    const states = await Promise.all(Array.from({ length: 50 }, stateOf))
    expect(new Set(states).size).toBe(50)
    for (const state of states) {
      expect(state).toMatch(/^[A-Za-z0-9_-]{32}$/)
      const left = await redis.store.pttl(keys.installState(state))
      expect(left).toBeGreaterThan(3_500_000)
      expect(left).toBeLessThanOrEqual(3_600_000)
    }
  })
})

describe('the redirect that ends an install', () => {
  async function begun() {
    const keys = redis.freshKeys()
    const at = office(redis.store, keys, {
      exchangeCode: async () => tokens('access-1', 'refresh-1'),
      metadata: async () => metadata(),
    })
    const state = new URL(await beginInstall(redis.store, keys, SETTINGS)).searchParams.get('state') ?? ''
    return { ...at, keys, state }
  }

  test('with the state that was given out and a code connects the account', async () => {
    const { deps, provider, state } = await begun()
    expect(await finishInstall(deps, { state, code: 'c-1' })).toMatchObject({ is: 'connected', hubId: 123 })
    expect(provider.calls[0]).toEqual(['exchangeCode', 'c-1'])
  })

  test('works once: the same state again is refused, and nobody is asked', async () => {
    const { deps, provider, state } = await begun()
    await finishInstall(deps, { state, code: 'c-1' })
    const calls = provider.calls.length
    expect(await finishInstall(deps, { state, code: 'c-2' })).toEqual({ is: 'bad-state' })
    expect(provider.calls).toHaveLength(calls)
  })

  test('works once, also of several that come in the same moment', async () => {
    const { deps, provider, state } = await begun()
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => finishInstall(deps, { state, code: 'c-1' })))
    expect(outcomes.filter(({ is }) => is === 'connected')).toHaveLength(1)
    expect(provider.calls.filter(([name]) => name === 'exchangeCode')).toHaveLength(1)
  })

  test.each([
    ['none', undefined],
    ['an empty one', ''],
    ['a forged one', 'A'.repeat(32)],
    ['one that is too short', 'A'.repeat(31)],
    ['one that would be another key', '../canary'],
    ['one with a key in it', `${'x'.repeat(28)}:{1}`],
  ])('is refused with a state that is %s', async (_, state) => {
    const { deps, provider, keys } = await begun()
    const before = await dump(redis.store, keys)
    expect(await finishInstall(deps, { state, code: 'c-1' })).toEqual({ is: 'bad-state' })
    expect(provider.calls).toEqual([])
    expect(await dump(redis.store, keys)).toEqual(before)
  })

  test('of somebody who said no is a refusal, and uses the state up', async () => {
    const { deps, provider, state } = await begun()
    const refused = { state, error: 'access_denied', code: 'c-1' }
    expect(await finishInstall(deps, refused)).toEqual({ is: 'refused', reason: 'access_denied' })
    expect(provider.calls).toEqual([])
    expect(await finishInstall(deps, { state, code: 'c-1' })).toEqual({ is: 'bad-state' })
  })

  test.each([[undefined], ['']])('without a code (%j) says so', async (code) => {
    const { deps, state } = await begun()
    expect(await finishInstall(deps, { state, code })).toEqual({ is: 'no-code' })
  })

  test('with a code that is no good says that the code is what failed', async () => {
    const { deps, state } = await begun()
    const refusing = office(redis.store, deps.keys, {
      exchangeCode: async () => failure('rejected', { code: 'BAD_AUTH_CODE' }),
    })
    expect(await finishInstall(refusing.deps, { state, code: 'used' })).toMatchObject({
      is: 'failed',
      step: 'token',
      failure: { code: 'BAD_AUTH_CODE' },
    })
  })
})
