import { type IncomingHttpHeaders, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { connectWithCode } from '../../src/accounts/connect-account.ts'
import { encodeState, type SeriesState } from '../../src/alerts/alert-state.ts'
import { accountJobs, createAccessTokens } from '../../src/app/account-jobs.ts'
import { brandOf, httpDeps } from '../../src/app/http.ts'
import { AdminTokenStore, mainToken, OF_CONFIG, OF_MACHINE } from '../../src/http/access/admin-tokens.ts'
import type { Scope } from '../../src/http/access/scopes.ts'
import { type HttpDeps, startHttpServer } from '../../src/http/server.ts'
import { changeBetween } from '../../src/limits/history/change.ts'
import type { Readings } from '../../src/limits/readings.ts'
import type { Samples } from '../../src/limits/samples.ts'
import { StoredReadings } from '../../src/limits/stored-readings.ts'
import type { TestedReceiver } from '../../src/operations/actions.ts'
import type { TokenOwner } from '../../src/provider/answers.ts'
import { failed, type ProviderFailure } from '../../src/provider/failure.ts'
import { NO_ACCOUNT } from '../../src/redis/steps.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { commitPoll } from '../support/committed-poll.ts'
import { CodeDoor } from '../support/endpoint.ts'
import type { TestRedis } from '../support/redis-server.ts'
import { openLastingWorld } from '../support/world.ts'
import { asDocumented } from './as-documented.ts'

export const ADMIN_TOKEN = 'an-admin-token-for-tests'
/** That of commands on the daemon's own machine. */
export const LOCAL_TOKEN = 'the-token-of-this-machine'
export const BEARER = { authorization: `Bearer ${ADMIN_TOKEN}` }
export const ACCESS_TOKEN = 'access-token-that-nobody-may-see'
export const REFRESH_TOKEN = 'refresh-token-that-nobody-may-see'

const MAIL = { type: 'email', smtp: 'smtps://mail.example.com', from: 'a@example.com', to: ['b@example.com'] }
export const SETTINGS = {
  http: { publicUrl: 'http://127.0.0.1' },
  provider: {
    clientId: 'the-client',
    clientSecret: 'the-secret',
    installUrl: 'https://provider.example.com/authorize',
    redirectUri: 'https://plimsoll.example.com/oauth/callback',
    scopes: ['oauth', 'crm.objects.contacts.read'],
  },
  tags: { vip: [1] },
  thresholds: [{ name: 'full', on: '*', warning: { percent: 80, count: 1 }, critical: { percent: 95 } }],
  alerts: { group: { by: ['rule'] } },
  receivers: { 'ops-hook': { type: 'slack', url: 'https://hooks.example.com' }, 'ops-mail': MAIL },
  routes: [{ to: ['ops-mail'] }],
}

export interface Customer {
  hubId: number
  hubDomain?: string
  user?: string
  scopes?: string[]
}

type ServerOptions = Partial<Omit<HttpDeps, 'actions'>> & {
  actions?: Partial<HttpDeps['actions']>
  /** Groups of the config in place of the usual ones. */
  settings?: object
}

/** What a test of each receiver comes to. */
const TESTED: Record<string, TestedReceiver> = {
  'ops-hook': { outcome: { outcome: 'delivered', answer: 204 }, ms: 12, noted: 'recorded', fix: undefined },
  'ops-mail': {
    outcome: { outcome: 'retry', reason: 'connection refused' },
    ms: 3,
    noted: 'recorded',
    fix: 'check receivers.ops-mail.smtp',
  },
}

export async function openServer(redis: TestRedis, options: ServerOptions = {}) {
  const opened = await openLastingServer(redis, options)
  onTestFinished(() => opened.close())
  return opened
}

/**
 * The server of a daemon in a world of its own, for several tests: who opens it closes it. Nothing is polled, refreshed
 * or sent to a receiver at somebody's wish.
 */
export async function openLastingServer(redis: TestRedis, { actions, settings, ...options }: ServerOptions = {}) {
  const customers = new FakeProvider()
  const world = await openLastingWorld(redis, {
    settings: { ...SETTINGS, ...settings },
    provider: {
      exchangeCode: (code) => customers.exchangeCode(code),
      refresh: () => customers.refresh(),
      metadata: () => customers.metadata(),
    },
  })
  const { services, clock, keys, woken, logged } = world
  const { queues, vault } = services
  const steps = services.store
  const pages = redis.connect('pages')
  const door = new CodeDoor()
  const stopping = new AbortController()
  const asDaemon = httpDeps(
    {
      pages,
      servesPages: true,
      stop: stopping.signal,
      jobs: accountJobs(() => services, stopping.signal),
      adminTokens: {
        main: mainToken(OF_CONFIG, new Secret(ADMIN_TOKEN)),
        local: mainToken(OF_MACHINE, new Secret(LOCAL_TOKEN)),
      },
      brand: brandOf(world.config),
      health: async () => ({ alive: true, ready: true, findings: [] }),
      isStarting: () => false,
      accessTokens: createAccessTokens(() => services, pages),
    },
    services,
  )
  const { registry } = asDaemon
  const connect = { ...services, endpoint: door }
  const deps: HttpDeps = {
    ...asDaemon,
    listen: { host: '127.0.0.1', port: 0 },
    connect,
    isDaemon: true,
    actions: {
      ...asDaemon.actions,
      poll: async (hubId) => ({ account: await registry.get(hubId), reason: undefined }),
      refresh: async (hubId) => {
        const account = await registry.get(hubId)
        return account === undefined ? { is: 'unknown' } : { is: 'refreshed', account }
      },
      testReceiver: async (name) => TESTED[name],
      ...actions,
    },
    ...options,
  }
  const http = await startHttpServer(deps)
  const ask = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
    askServer(http.url, method, path, headers, body).then((answer) => asDocumented(method, path, answer))
  const signIn = async (token = ADMIN_TOKEN) => {
    const answer = await ask('POST', '/sign-in', FORM, `token=${token}`)
    return { cookie: String(answer.headers['set-cookie']).split(';')[0] ?? '' }
  }

  return {
    close: async () => {
      await http.close(5_000)
      await world.close()
    },
    server: http,
    deps,
    clock,
    keys,
    queues,
    steps,
    provider: customers,
    door,
    woken,
    ask,
    silences: deps.silences,
    logs: logged,
    get: (path: string, headers: Record<string, string> = BEARER) => ask('GET', path, headers),
    /** An account, connected through the step that the callback takes. */
    connectAccount: async (customer: Customer) => {
      customers.customer = customer
      await connectWithCode(connect, new Secret('code'))
    },
    /** A named admin token, known from the next second on. */
    addToken: async (name: string, ...scopes: Scope[]) => {
      const token = await new AdminTokenStore(steps, keys, vault).add(name, scopes, clock.now())
      clock.move(1_000)
      return token === 'taken' ? token : token.reveal()
    },
    /** One poll that read these reports and found alerts in these states. */
    poll: async (hubId: number, readings: Readings, states: Record<string, SeriesState> = {}, shown?: Samples) => {
      const at = clock.now()
      await commitPoll(steps, keys, hubId, at, ({ state, alertStates }) => {
        const changes = Object.entries(states).map(([id, state]): [string, string, string] => [
          id,
          alertStates[id] ?? '',
          encodeState(state),
        ])
        return {
          freshAt: at,
          state: {
            readings: StoredReadings.of(readings, at),
            records: shown && { digests: '', age: 0, until: Date.now() + 2_592_000_000 },
          },
          more: {
            change: changeBetween(state.readings.all, readings, at, 1_800_000),
            samples: shown,
            alerts: { changes, entries: [] },
          },
        }
      })
    },
    /** Alerts about the whole fleet, by its trouble. */
    fleetAlerts: async (states: Record<string, SeriesState>) => {
      for (const [trouble, state] of Object.entries(states)) {
        await steps.hset(keys.account(NO_ACCOUNT).alerts, trouble, encodeState(state))
      }
      await steps.sadd(keys.alerting, NO_ACCOUNT)
    },
    /** Signs in through the form; returns the Cookie header. */
    signIn,
    /** Somebody who has signed in: reads pages, and sends forms with the token that they carry. */
    signedIn: async (token?: string) => {
      const cookie = await signIn(token)
      const { text } = await ask('GET', '/', cookie)
      const [, csrf = ''] = /name="csrf" value="([\w-]+)"/.exec(text) ?? []
      // As browsers do: what a form sets goes along with the next page, which ends it.
      let done = ''
      const kept = (answer: Answer) => {
        const [, value] = /^plimsoll-done=([^;]*)/.exec(answer.headers['set-cookie']?.[0] ?? '') ?? []
        done = value ?? done
        return answer
      }
      return {
        cookie,
        csrf,
        see: async (path: string) =>
          kept(await ask('GET', path, { cookie: `${cookie.cookie}; plimsoll-done=${done}` })),
        send: async (path: string, body = '', headers = {}) =>
          kept(await ask('POST', path, { ...cookie, ...FORM, ...headers }, `${body}&csrf=${csrf}`)),
      }
    },
    /** Through the install link to the provider; returns the state that comes back. */
    beginInstall: async () => {
      const { headers } = await ask('GET', '/install')
      return new URL(String(headers.location)).searchParams.get('state') ?? ''
    },
  }
}

export const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
export const JSON_BODY = { 'content-type': 'application/json' }

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
  /** The text without markup, with single spaces. */
  words: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers as they come
  json: any
}

export function wordsOf(markup: string): string {
  return markup
    .replace(/<\/?time[^>]*>/g, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')
}

/** Plain node:http: no redirects followed, and every header, Host too, is the test's. */
export function askServer(
  url: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const outgoing = request({ hostname, port, method, path, headers, agent: false }, (incoming) => {
      text(incoming).then((content) => {
        const json =
          /[/+]json/.test(incoming.headers['content-type'] ?? '') && content !== '' ? JSON.parse(content) : null
        const { statusCode: status = 0, headers } = incoming
        resolve({ status, headers, text: content, words: wordsOf(content), json })
      }, reject)
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

/** Answers what a test says. */
export class FakeProvider {
  customer: Customer = { hubId: 1 }
  tokenFailure: ProviderFailure | undefined
  metadataFailure: ProviderFailure | undefined
  /** What the token answer itself says of whose it is. */
  owner: TokenOwner | undefined
  codes: string[] = []
  /** No code is answered before. */
  answers: Promise<void> = Promise.resolve()
  refreshes = 0

  async exchangeCode(code: Secret) {
    this.codes.push(code.reveal())
    await this.answers
    return this.#grant()
  }

  async refresh() {
    this.refreshes++
    return this.#grant()
  }

  async metadata() {
    if (this.metadataFailure !== undefined) return failed(this.metadataFailure)
    const { hubId, hubDomain, user, scopes = ['oauth', 'crm.objects.contacts.read'] } = this.customer
    return {
      ok: true as const,
      value: { hubId, hubDomain, user, userId: undefined, appId: undefined, scopes, lifeLeftMs: undefined },
    }
  }

  async #grant() {
    if (this.tokenFailure !== undefined) return failed(this.tokenFailure)
    return {
      ok: true as const,
      value: {
        accessToken: new Secret(ACCESS_TOKEN),
        refreshToken: new Secret(REFRESH_TOKEN),
        lifetimeMs: 1_800_000,
        ...(this.owner === undefined ? {} : { owner: this.owner }),
      },
    }
  }
}

/** Numbers of the pair `0-1/0-2`. */
type PairNumbers = Record<'limit' | 'atLimit' | 'nearLimit' | 'fullest', number>

export function readings(
  at: number,
  overallUsage: number,
  options: { label?: string; objectTypeId?: string; pair?: Partial<PairNumbers> } = {},
): Readings {
  const { label = 'Contacts', objectTypeId = '0-1' } = options
  const { limit = 100, atLimit = 0, nearLimit = 0, fullest = 0 } = options.pair ?? {}
  const pair = { from: '0-1', to: '0-2' }
  return {
    customProperties: {
      at,
      values: [
        { metric: 'customProperties.overall', usage: overallUsage, limit: 1000 },
        { metric: 'customProperties.objectType', objectTypeId, label, usage: 120, limit: 500 },
      ],
    },
    'associations/0-1/0-2': {
      at,
      values: [
        { metric: 'associations.atLimit', ...pair, usage: atLimit, limit: 0 },
        { metric: 'associations.nearLimit', ...pair, usage: nearLimit, limit: 0 },
        { metric: 'associations.fullest', ...pair, usage: fullest, limit },
      ],
    },
  }
}

export function openState(level: 'warning' | 'critical', rule: string, since: number): SeriesState {
  return { level, rule, since, transitions: 1, sentAt: since, lastSent: null, pending: null }
}
