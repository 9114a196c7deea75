import { describe, expect, test } from 'vitest'
import { beginInstall, finishInstall, type InstallSettings, installUrl } from '../../src/accounts/install.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { dump, vault, vaultKey } from '../support/accounts.ts'
import { CodeDoor } from '../support/endpoint.ts'
import { type FakeAnswers, failure, tokens } from '../support/fake-provider.ts'
import { otherSpellings } from '../support/spare-bits.ts'
import { worldOfFile } from '../support/world.ts'
import { metadata } from './connected.ts'

const world = worldOfFile()

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const HOUR = 3_600_000
const stateIn = (url: string) => new URL(url).searchParams.get('state') ?? ''

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

  test('has another state every time, however many are asked for', () => {
    const states = Array.from({ length: 500 }, () => stateIn(beginInstall(vault, SETTINGS, NOW)))
    expect(new Set(states).size).toBe(500)
  })
})

describe('the redirect that ends an install', () => {
  async function begun(does: FakeAnswers = {}) {
    const given = { exchangeCode: async () => tokens('access-1', 'refresh-1'), metadata: async () => metadata() }
    const w = await world({ provider: { ...given, ...does } })
    const door = new CodeDoor()
    const deps = { ...w.services, endpoint: door }
    return { ...w, deps, door, state: stateIn(beginInstall(deps.vault, SETTINGS, w.clock.now())) }
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

  test('works once, also of several that come in the same moment: the others wait, and show its success', async () => {
    const { deps, provider, state, clock } = await begun()
    const visits = Array.from({ length: 10 }, () => finishInstall(deps, { state, code: 'c-1' }))
    const outcomes = await clock.pass(Promise.all(visits))
    const success = outcomes.find(({ is }) => is === 'connected')
    expect(success).toBeDefined()
    expect(outcomes.filter((one) => one !== success)).toEqual(Array(9).fill({ is: 'shown-again', success }))
    expect(provider.calls.filter(([name]) => name === 'exchangeCode')).toHaveLength(1)
  })

  test.each<[string, (state: string) => string | undefined]>([
    ['none', () => undefined],
    ['an empty one', () => ''],
    ['one of an older version', () => 'A'.repeat(32)],
    ['one with another nonce', (state) => `${state.startsWith('A') ? 'B' : 'A'}${state.slice(1)}`],
    ['one that lasts longer', (state) => state.replace(/\.\w+\./, `.${(NOW + 2 * HOUR).toString(36)}.`)],
    ['the same in another spelling', (state) => state.slice(0, -43) + otherSpellings(state.slice(-43))[0]],
    ['one without its signature', (state) => state.replace(/\.[^.]*$/, '.')],
    [
      'one of another installation',
      () => stateIn(beginInstall(createVault([{ ...vaultKey, key: Buffer.alloc(32, 9) }]), SETTINGS, NOW)),
    ],
  ])('is refused with a state that is %s', async (_, stateOf) => {
    const { deps, provider, keys, ...at } = await begun()
    const state = stateOf(at.state)
    const before = await dump(at.store, keys)
    expect(await finishInstall(deps, { state, code: 'c-1' })).toEqual({ is: 'bad-state' })
    expect(provider.calls).toEqual([])
    expect(await dump(at.store, keys)).toEqual(before)
  })

  test('is good for an hour', async () => {
    const { deps, state, clock } = await begun()
    clock.move(HOUR - 1)
    expect((await finishInstall(deps, { state, code: 'c-1' })).is).toBe('connected')
    const late = await begun()
    late.clock.move(HOUR)
    expect(await finishInstall(late.deps, { state: late.state, code: 'c-1' })).toEqual({ is: 'bad-state' })
  })

  test('works with the key that was the first when it began, as long as there is that key', async () => {
    const { deps, state } = await begun()
    const newer = { id: 'k2', key: Buffer.alloc(32, 2) }
    expect((await finishInstall({ ...deps, vault: createVault([newer]) }, { state })).is).toBe('bad-state')
    expect((await finishInstall({ ...deps, vault: createVault([newer, vaultKey]) }, { state })).is).toBe('no-code')
  })

  test('keeps what was used for as long as it could be used again, and nothing else', async () => {
    const { deps, keys, state, clock, store } = await begun()
    const kept = () => store.keys(keys.usedInstallState('*'))
    clock.move(HOUR / 2)
    await finishInstall(deps, { state, error: 'access_denied' })
    expect(await kept()).toEqual([])
    await finishInstall(deps, { state, code: 'c-1' })
    const [key = '', ...others] = await kept()
    expect(others).toEqual([])
    const left = await store.pttl(key)
    expect(left).toBeGreaterThan(HOUR / 2 - 60_000)
    expect(left).toBeLessThanOrEqual(HOUR / 2)
  })

  test('of somebody who said no is a refusal; who goes back and says yes is let in', async () => {
    const { deps, provider, state } = await begun()
    const refused = { state, error: 'access_denied', code: 'c-1' }
    expect(await finishInstall(deps, refused)).toEqual({ is: 'refused', reason: 'access_denied' })
    expect(provider.calls).toEqual([])
    expect((await finishInstall(deps, { state, code: 'c-2' })).is).toBe('connected')
  })

  test('waits while the door to the provider is closed, and is as good as before when it opens', async () => {
    const { deps, provider, door, keys, state, store } = await begun()
    door.closedUntil = NOW + 60_000
    for (let n = 0; n < 3; n++) {
      expect(await finishInstall(deps, { state, code: 'c-1' })).toEqual({ is: 'waits', until: NOW + 60_000 })
    }
    expect(provider.calls).toEqual([])
    expect(await store.keys(keys.usedInstallState('*'))).toEqual([])
    door.closedUntil = undefined
    expect((await finishInstall(deps, { state, code: 'c-1' })).is).toBe('connected')
  })

  test.each([[undefined], ['']])('without a code (%j) says so', async (code) => {
    const { deps, state } = await begun()
    expect(await finishInstall(deps, { state, code })).toEqual({ is: 'no-code' })
  })

  test('with a code that is no good says that the code is what failed', async () => {
    const { deps, state } = await begun({ exchangeCode: async () => failure('rejected', { code: 'BAD_AUTH_CODE' }) })
    const refused = { is: 'failed', step: 'token', failure: { code: 'BAD_AUTH_CODE' } }
    expect(await finishInstall(deps, { state, code: 'used' })).toMatchObject(refused)
  })
})
