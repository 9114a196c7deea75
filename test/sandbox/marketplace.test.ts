import { expect, test } from 'vitest'
import { CLIENT, HUB, REDIRECT_URI, SCOPES, visit } from './visit.ts'

const RETURN_URL = 'https://app-eu1.hubspot.com/installed?a=1'

test.each([
  ['marketplace', undefined, { returnUrl: RETURN_URL, code: expect.any(String) }],
  ['sign-in', undefined, { step: 'authorize', returnUrl: RETURN_URL }],
  ['sign-in', 'a-state', { step: 'finalize', returnUrl: RETURN_URL, state: 'a-state', code: expect.any(String) }],
])('an install that begins in the marketplace, flow %s with the state %s', async (flow, state, expected) => {
  const { call } = await visit()
  const asked = { client_id: CLIENT.client_id, redirect_uri: REDIRECT_URI, scopes: SCOPES, account: String(HUB), flow }
  const form = new URLSearchParams({ ...asked, returnUrl: RETURN_URL, ...(state === undefined ? {} : { state }) })
  const { status, headers } = await call('POST', '/oauth/authorize', form)
  const back = new URL(headers.get('location') ?? '')
  expect([status, `${back.origin}${back.pathname}`]).toEqual([302, REDIRECT_URI])
  expect(Object.fromEntries(back.searchParams)).toEqual(expected)
})
