import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Answer, askServer, FORM } from '../http/open-server.ts'
import type { Daemon } from '../support/daemon.ts'
import { ADMIN_TOKEN, connectAccount, freePort, hubIdsOf } from '../support/fleet.ts'
import { NGINX, startNginx } from '../support/nginx.ts'
import { openScene, type Scene } from '../support/scene.ts'

const CONF = new URL('../../config/deploy/nginx-single-sign-on.conf', import.meta.url)

/** What oauth2-proxy knows of the browser with this cookie. */
const PEOPLE: Record<string, { email: string; groups: string }> = {
  'session=ann': { email: 'ann@example.com', groups: 'staff,ops' },
  'session=sue': { email: 'sue@example.com', groups: 'staff,support' },
  'session=max': { email: 'max@example.com', groups: 'staff' },
  'session=eve': { email: 'eve@example.com', groups: `staff,${'g'.repeat(40_000)}` },
  // As many as a directory has.
  'session=lea': {
    email: 'lea@example.com',
    groups: [...Array.from({ length: 200 }, (_, n) => `directory-group-number-${n}`), 'ops'].join(','),
  },
}

/** Cookies as oauth2-proxy sets them for a large session: more than a server takes that is not made for them. */
const LARGE = Array.from({ length: 5 }, (_, n) => `_oauth2_proxy_${n}=${'x'.repeat(3_900)}`).join('; ')

/** Proxies on this machine have an address of their own, so that calls from elsewhere are from another one. */
const PROXY = '127.0.0.2'

describe.skipIf(NGINX === undefined)(
  'single sign-on behind a real nginx, by the file that the guide names (left out where there is no nginx and none could be fetched: apt-get install nginx, or set NGINX_BIN)',
  () => {
    let scene: Scene
    let daemon: Daemon
    let hubId: number
    let url: string
    let errorLog: string
    const ends: (() => unknown)[] = []

    beforeAll(async () => {
      scene = await openScene({ accounts: 1, tokenLifetimeMs: 60_000 })
      hubId = (await hubIdsOf(scene.sandbox.url))[0] ?? 0
      const port = await freePort()
      url = `http://127.0.0.1:${port}`
      daemon = await scene.daemon({
        http: {
          publicUrl: url,
          trustedUserHeader: 'X-Forwarded-User',
          trustedGroupsHeader: 'X-Forwarded-Groups',
          trustedProxies: [PROXY],
          trustedGroups: { ops: ['read', 'write'], support: ['read'] },
        },
      })
      const oauth2Proxy = createServer({ maxHeaderSize: 65_536 }, ({ headers }, answer) => {
        const person = PEOPLE[/session=\w+/.exec(headers.cookie ?? '')?.[0] ?? '']
        if (person === undefined) return answer.writeHead(401).end()
        const { email, groups } = person
        return answer.writeHead(202, { 'x-auth-request-email': email, 'x-auth-request-groups': groups }).end()
      })
      await new Promise<void>((resolve) => oauth2Proxy.listen(0, '127.0.0.1', resolve))
      const servers = readFileSync(CONF, 'utf8')
        .replace(/^server \{\n {4}listen 80;[\s\S]*/m, '')
        .replaceAll(/^ *(ssl_|add_header|listen \[).*\n/gm, '')
        .replace('listen 443 ssl;', `listen 127.0.0.1:${port};\n    proxy_bind ${PROXY};`)
        .replaceAll('127.0.0.1:8088', new URL(daemon.url).host)
        .replaceAll('127.0.0.1:4180', `127.0.0.1:${(oauth2Proxy.address() as AddressInfo).port}`)
      const nginx = await startNginx(servers, `${url}/assets/mark.svg`)
      errorLog = join(nginx.folder, 'plimsoll.error.log')
      ends.push(nginx.stop, () => oauth2Proxy.close())
      await connectAccount(url, hubId)
    })
    afterAll(async () => {
      for (const end of ends) await end()
      await scene.close()
    })

    const as = (who: 'ann' | 'sue' | 'max' | 'eve' | 'lea') => ({ cookie: `session=${who}` })
    const ask = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
      askServer(url, method, path, { host: new URL(url).host, ...headers }, body)

    test('who is not signed in is sent to oauth2-proxy; who is, is named on the pages', async () => {
      const { status, headers } = await ask('GET', '/accounts?q=a')
      expect([status, headers.location]).toEqual([302, expect.stringMatching(/\/oauth2\/start\?rd=.*\/accounts\?q=a$/)])
      const page = await ask('GET', '/', as('ann'))
      expect([page.status, page.words]).toEqual([200, expect.stringContaining('Signed in as ann@example.com')])
    })

    test('what a client writes into the headers is replaced by the proxy, in any spelling', async () => {
      for (const forged of [
        { 'X-Forwarded-User': 'mallory' },
        { 'x-forwarded-user': 'mallory', X_FORWARDED_USER: 'mallory' },
        { 'X-Auth-Request-Email': 'mallory', 'X-Forwarded-Groups': 'ops' },
      ]) {
        const named = await ask('GET', '/', { ...as('sue'), ...forged })
        expect([named.status, named.words]).toEqual([200, expect.stringContaining('Signed in as sue@example.com')])
        expect(named.text).not.toContain('mallory')
        expect((await ask('GET', '/accounts', forged)).status).toBe(302)
        expect((await ask('GET', '/api/v1/status', forged)).status).toBe(401)
        expect((await ask('POST', `/api/v1/accounts/${hubId}/uninstall`, forged)).status).toBe(401)
      }
    })

    test('a form that ann sends is done, and bears her name; from another site, or by sue, it is not', async () => {
      const csrfOf = ({ text }: Answer) => /name="csrf" value="([\w-]{43})"/.exec(text)?.[1] ?? ''
      const csrf = csrfOf(await ask('GET', '/silences/new', as('ann')))
      const silence = (who: 'ann' | 'sue', more: object = {}) =>
        ask(
          ...(['POST', '/silences/new', { ...as(who), ...FORM, origin: url, ...more }] as const),
          `name=account&value=${hubId}&for=1h&comment=a+test&do=silence&csrf=${csrf}`,
        )
      expect((await silence('ann', { origin: 'https://evil.example' })).status).toBe(403)
      expect((await silence('sue')).status).toBe(403)
      expect((await silence('ann')).status).toBe(303)
      const { json } = await askServer(daemon.url, 'GET', '/api/v1/silences', {
        authorization: `Bearer ${ADMIN_TOKEN}`,
      })
      expect(json.items.map(({ author }: { author: string }) => author)).toEqual(['ann@example.com'])
    })

    test('a person in no group of the config sees nothing, and is told why', async () => {
      const { status, words } = await ask('GET', '/accounts', as('max'))
      expect([status, words]).toEqual([403, expect.stringContaining('no group of max@example.com has here')])
    })

    test('a person with large cookies and many groups is let in, with the cookies of Plimsoll beside those of oauth2-proxy', async () => {
      const cookie = `${LARGE}; ${as('lea').cookie}`
      const page = await ask('GET', '/', { cookie })
      expect([page.status, page.words]).toEqual([200, expect.stringContaining('Signed in as lea@example.com')])
      const signedIn = await ask('POST', '/sign-in', { ...as('lea'), ...FORM, origin: url }, `token=${ADMIN_TOKEN}`)
      const [own = ''] = String(signedIn.headers['set-cookie']).split(';')
      const guest = await ask('POST', '/api/v1/accounts/1/poll', { cookie: `${LARGE}; ${own}` })
      expect([guest.status, guest.words]).toEqual([403, expect.stringContaining('A session is not enough')])
    })

    test('what does not fit is in the error log of nginx; codes of customers are not', async () => {
      expect((await ask('GET', '/', as('eve'))).status).toBe(500)
      expect(readFileSync(errorLog, 'utf8')).toContain('upstream sent too big header')
      const tooLong = 'x'.repeat(70_000)
      expect((await ask('POST', '/oauth/callback?code=a-code-of-a-customer', {}, tooLong)).status).toBe(413)
      expect((await ask('POST', '/alerts?q=of-a-person', as('ann'), tooLong)).status).toBe(413)
      expect(readFileSync(errorLog, 'utf8')).toContain('of-a-person')
      expect(readFileSync(errorLog, 'utf8')).not.toContain('a-code-of-a-customer')
    })

    test("a page of another host name is nobody's, though nginx asks oauth2-proxy", async () => {
      const { status, words } = await ask('GET', '/', { ...as('ann'), host: 'evil.example' })
      expect([status, words]).toEqual([403, expect.stringContaining(`works at ${url} (http.publicUrl) only`)])
    })

    test('customers and programs pass as before', async () => {
      expect((await ask('GET', '/install')).status).toBe(302)
      expect((await ask('GET', '/oauth/callback')).status).toBe(400)
      const bearer = { authorization: `Bearer ${ADMIN_TOKEN}` }
      expect((await ask('GET', '/api/v1/status', bearer)).status).toBe(200)
      expect((await ask('GET', '/healthz')).status).toBe(403)
    })

    test('50 calls with a forged header from elsewhere are refused', async () => {
      const before = daemon.lines.length
      const paths = ['/', '/accounts', '/api/v1/status', `/api/v1/accounts/${hubId}/token`, '/metrics']
      const calls = Array.from({ length: 50 }, (_, n) =>
        askServer(daemon.url, n % 2 === 0 ? 'GET' : 'POST', paths[n % paths.length] ?? '/', {
          'x-forwarded-user': 'ann@example.com',
          'x-forwarded-groups': 'ops',
          ...(n % 3 === 0 ? { 'x-forwarded-for': PROXY } : {}),
        }),
      )
      const statuses = (await Promise.all(calls)).map(({ status }) => status)
      expect(statuses).toEqual(Array.from({ length: 50 }, () => 401))
      const refused = daemon.lines.slice(before).filter((line) => line.includes('"http.user-refused"'))
      expect(refused).toHaveLength(50)
      expect(refused.join('')).not.toContain('ann@')
    })
  },
)
