import { describe, expect, test } from 'vitest'
import { beginInstall, finishInstall, type InstallSettings, installUrl } from '../../src/accounts/install.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { dump, vaultKey } from '../support/accounts.ts'
import { CodeDoor } from '../support/endpoint.ts'
import { tokens } from '../support/fake-provider.ts'
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

  test('writes a space as %20, leaves out optional scopes that there are none of, and keeps what it has of its own', () => {
    const url = installUrl({ ...SETTINGS, installUrl: 'https://x.test/a?region=eu1', optionalScopes: [] }, 's')
    expect(url).toMatch(/^https:\/\/x\.test\/a\?region=eu1&client_id=client%20id%2B1&/)
    expect(url).not.toMatch(/optional|\+/)
  })
})

describe('the redirect that ends an install', () => {
  async function begun() {
    const exchangeCode = async () => tokens('access-1', 'refresh-1')
    const w = await world({ provider: { exchangeCode, metadata: async () => metadata() } })
    const deps = { ...w.services, endpoint: new CodeDoor() }
    return { ...w, deps, state: stateIn(beginInstall(deps.vault, SETTINGS, w.clock.now())) }
  }

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
})
