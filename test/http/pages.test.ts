import { expect, test } from 'vitest'
import { alertId } from '../../src/alerts/alert-state.ts'
import { html } from '../../src/text/html.ts'
import { redisOfFile } from '../support/of-file.ts'
import { openServer, openState, readings } from './open-server.ts'

const redis = redisOfFile()

/** A server with the account 4. */
async function openAccount() {
  const server = await openServer(redis)
  await server.connectAccount({ hubId: 4, hubDomain: 'acme.example.com' })
  return server
}

const HOSTILE = `<img src=x onerror="alert(1)">'&`

test('a template escapes what it is given, and not what it made itself', () => {
  expect(String(html`<b title="${HOSTILE}">${html`<i>${1}</i>`}${[html`<u>`, html`</u>`]}${undefined}</b>`)).toBe(
    '<b title="&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&#39;&amp;"><i>1</i><u></u></b>',
  )
})

/** The page of an alert of account 4, as `who` sees it. */
async function alertPage(get: (path: string) => Promise<{ text: string }>, field: string, since: number) {
  const { text } = await get(`/alerts/${alertId(4, field, since)}?account=4`)
  return text.slice(text.indexOf('<h1>'), text.indexOf('<h2>Notifications'))
}

test('the page of a token alert has the link for the customer, for a reader who may send it', async () => {
  const { get, ask, poll, clock, addToken } = await openAccount()
  const since = clock.now()
  await poll(4, readings(since, 10), { token: openState('critical', 'token', since) })
  const text = await alertPage(get, 'token', since)
  const [, link = ''] = /id="reconnect" value="http:\/\/127\.0\.0\.1([^"]+)"/.exec(text) ?? []
  expect((await ask('GET', link.replaceAll('&amp;', '&'))).status).toBe(302)
  // The command for the same is in mails.
  expect(text).not.toContain('accounts reconnect-link')
  const reader = { authorization: `Bearer ${await addToken('reader', 'read')}` }
  const seen = await alertPage((path) => get(path, reader), 'token', since)
  expect(seen).not.toMatch(/signature|\/silences\/new/)
})

test.each(['7', '7~x', '~', 'x'])('there are no later limits behind %s', async (after) => {
  const { get } = await openServer(redis)
  for (const path of ['/upcoming', '/api/v1/upcoming']) {
    expect(await get(`${path}?after=${after}`)).toMatchObject({ status: 400 })
  }
  expect((await get('/upcoming?after=7~29.9')).text).toContain('First page')
})

test('every page forbids scripts, frames and guessing, and is kept nowhere', async () => {
  const { ask, get } = await openServer(redis)
  const answers = [
    await get('/'),
    await get('/no-such-page'),
    await get('/%zz'),
    await ask('GET', '/sign-in'),
    await ask('GET', '/oauth/callback'),
    await ask('GET', '/api/v1/status'),
  ]
  for (const { headers } of answers) {
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'self';.*frame-ancestors 'none'$/,
    )
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'cache-control': 'no-store',
    })
    expect(headers['referrer-policy']).toMatch(/^(no-referrer|same-origin)$/)
  }
  expect((await ask('GET', '/oauth/callback')).headers['referrer-policy']).toBe('no-referrer')
  const { text } = await get('/')
  expect(text.replace('<script src="/assets/live.js" defer></script>', '')).not.toMatch(
    /<script|style=|<style|https?:\/\//,
  )
})

test('there is no page of an account that does not exist', async () => {
  const { get } = await openServer(redis)
  for (const hubId of ['1', '0', 'x', '9007199254740993']) expect((await get(`/accounts/${hubId}`)).status).toBe(404)
})
