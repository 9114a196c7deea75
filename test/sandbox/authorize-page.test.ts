import { describe, expect, test } from 'vitest'
import { CLIENT, HUB, metadataPath, REDIRECT_URI, SCOPES, type Tokens, visit } from './visit.ts'

const ASKED = { client_id: CLIENT.client_id, redirect_uri: REDIRECT_URI, scopes: SCOPES, state: 'st/a+te' }

function address(parameters: Record<string, string>): string {
  return `/oauth/authorize?${new URLSearchParams(parameters)}`
}

function without(name: keyof typeof ASKED): Record<string, string> {
  return Object.fromEntries(Object.entries(ASKED).filter(([key]) => key !== name))
}

describe('the page', () => {
  test('shows what the app asks for, the accounts to choose from, Connect and Cancel', async () => {
    const { call } = await visit()
    const answer = await call('GET', address({ ...ASKED, optional_scopes: 'crm.objects.deals.read' }))
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toContain('text/html')
    const text = await answer.text()
    for (const piece of [...SCOPES.split(' '), 'crm.objects.deals.read', 'acme-01.example.com', 'Connect', 'Cancel']) {
      expect(text).toContain(piece)
    }
    expect(text).not.toContain('<script')
  })

  test('is approved by a form to its own address, so that it works without scripts', async () => {
    const { call } = await visit()
    expect(await (await call('GET', address(ASKED))).text()).toContain('<form method="post">')
    const form = new URLSearchParams({ account: String(HUB), decision: 'connect' })
    const answer = await call('POST', address(ASKED), form)
    expect(answer.status).toBe(302)
    expect(new URL(answer.headers.get('location') ?? '').searchParams.get('state')).toBe(ASKED.state)
  })

  test('escapes whatever it is given', async () => {
    const { call } = await visit()
    const evil = `"><script>alert('x')</script>`
    await call('POST', '/sandbox/accounts', { hubId: 7, hubDomain: evil })
    const text = await (await call('GET', address({ ...ASKED, scopes: evil, state: evil }))).text()
    expect(text).not.toContain('<script')
    expect(text).toContain('&lt;script&gt;')
  })

  test.each([
    ['client_id is missing', without('client_id')],
    ['no app has this client_id', { ...ASKED, client_id: 'x' }],
    ['redirect_uri is missing', without('redirect_uri')],
    ['redirect_uri must be', { ...ASKED, redirect_uri: 'javascript:alert(1)' }],
    ['scopes is missing', without('scopes')],
  ])('is a plain 400 page that says: %s', async (problem, parameters) => {
    const { call } = await visit()
    for (const method of ['GET', 'POST']) {
      const answer = await call(method, address(parameters))
      expect(answer.status).toBe(400)
      expect(answer.headers.get('content-type')).toContain('text/html')
      expect(await answer.text()).toContain(problem)
    }
  })
})

describe('approving', () => {
  test('redirects with a code and the state, keeping the query of the redirect address', async () => {
    const { call } = await visit()
    const parameters = { ...ASKED, redirect_uri: 'https://vendor.example.com/cb?tenant=a%20b', account: String(HUB) }
    const answer = await call('POST', address(parameters))
    expect(answer.status).toBe(302)
    const location = new URL(answer.headers.get('location') ?? '')
    expect(location.origin + location.pathname).toBe('https://vendor.example.com/cb')
    expect(Object.fromEntries(location.searchParams)).toEqual({
      tenant: 'a b',
      code: expect.any(String),
      state: ASKED.state,
    })
  })

  test('installs the app, which nothing did before', async () => {
    const { call, approve } = await visit()
    const installed = async () => {
      const accounts = (await (await call('GET', '/sandbox/accounts')).json()) as {
        hubId: number
        installed: boolean
      }[]
      return accounts.filter((account) => account.installed).map((account) => account.hubId)
    }
    expect(await installed()).toEqual([])
    await approve(HUB + 1)
    expect(await installed()).toEqual([HUB + 1])
  })

  test('takes parameters from query string and form alike, under either name', async () => {
    const { call, redeem } = await visit()
    const form = new URLSearchParams({ account: String(HUB), scope: 'a b', optional_scope: 'c a' })
    const answer = await call('POST', address(without('scopes')), form)
    const code = new URL(answer.headers.get('location') ?? '').searchParams.get('code') ?? ''
    const { access_token: token } = (await (await redeem(code)).json()) as Tokens
    expect(await (await call('GET', metadataPath(token))).json()).toMatchObject({ scopes: ['a', 'b', 'c'] })
  })

  test('prefers scopes to scope', async () => {
    const { call, redeem } = await visit()
    const answer = await call('POST', address({ ...ASKED, scope: 'other', account: String(HUB) }))
    const code = new URL(answer.headers.get('location') ?? '').searchParams.get('code') ?? ''
    const { access_token: token } = (await (await redeem(code)).json()) as Tokens
    expect(await (await call('GET', metadataPath(token))).json()).toMatchObject({ scopes: SCOPES.split(' ') })
  })

  test('of an account that does not exist is refused', async () => {
    const { call } = await visit()
    const answer = await call('POST', address({ ...ASKED, account: '5' }))
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain('no such account')
    expect(await (await call('POST', address(ASKED))).text()).toContain('account is missing')
  })
})

test('Cancel redirects with access_denied and the state, and installs nothing', async () => {
  const { call } = await visit()
  const answer = await call('POST', address({ ...ASKED, account: String(HUB), decision: 'cancel' }))
  expect(answer.status).toBe(302)
  const parameters = new URL(answer.headers.get('location') ?? '').searchParams
  expect(parameters.get('error')).toBe('access_denied')
  expect(parameters.get('error_description')).toBeTruthy()
  expect(parameters.get('state')).toBe(ASKED.state)
  expect(parameters.has('code')).toBe(false)
  expect(await (await call('GET', '/sandbox/accounts')).text()).not.toContain('"installed":true')
})
