import { randomBytes } from 'node:crypto'
import { type IncomingHttpHeaders, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { openQueueBoard } from '../../jobs/queue-board.ts'
import { readQueueDepths } from '../../jobs/queue-depths.ts'
import { createQueues } from '../../jobs/queues.ts'
import { type CodeDeps, connectWithCode } from '../../src/accounts/connect-account.ts'
import { changeContact } from '../../src/accounts/contact.ts'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { identifyAccount } from '../../src/accounts/identify-account.ts'
import { reconnectLink } from '../../src/accounts/install.ts'
import { Registry } from '../../src/accounts/registry.ts'
import { beginUninstall } from '../../src/accounts/uninstall.ts'
import { AckLinks, acknowledgeAlert, unacknowledgeAlert } from '../../src/alerts/acknowledge.ts'
import { encodeState, type SeriesState } from '../../src/alerts/alert-state.ts'
import { tokenAnnouncer } from '../../src/alerts/kinds/token-alert.ts'
import { endSilence, SilenceStore } from '../../src/alerts/silence-store.ts'
import { serveAccessToken } from '../../src/app/account-actions.ts'
import { mailLinks } from '../../src/app/receivers.ts'
import { checkBounds } from '../../src/app/settings.ts'
import { AuditLog } from '../../src/audit/audit-log.ts'
import { Deliveries } from '../../src/delivery/deliveries.ts'
import { ReceiverStore } from '../../src/delivery/receiver-health.ts'
import { FailedCalls } from '../../src/heartbeat/failed-calls.ts'
import { AdminTokenStore, mainToken, OF_CONFIG } from '../../src/http/access/admin-tokens.ts'
import type { Scope } from '../../src/http/access/scopes.ts'
import type { TestedReceiver } from '../../src/http/actions.ts'
import { type HttpDeps, startHttpServer } from '../../src/http/server.ts'
import { CoverageStore } from '../../src/limits/coverage.ts'
import { packPoll } from '../../src/limits/findings.ts'
import { changeBetween } from '../../src/limits/history/change.ts'
import { History } from '../../src/limits/history/history.ts'
import type { Readings } from '../../src/limits/readings.ts'
import { KeptSamples, type Samples } from '../../src/limits/samples.ts'
import type { TokenOwner } from '../../src/provider/answers.ts'
import type { ProviderClient } from '../../src/provider/client.ts'
import { failed, type ProviderFailure } from '../../src/provider/failure.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { NO_ALERT_WRITES, NOBODY } from '../../src/redis/steps.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { InFlight } from '../../src/runtime/concurrency.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { AccessTokens } from '../../src/tokens/access-token.ts'
import { refreshAccount } from '../../src/tokens/refresh-account.ts'
import { TokenStore } from '../../src/tokens/token-store.ts'
import { Unstored } from '../../src/tokens/unstored.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { configOf, SMALLEST } from '../config/load-text.ts'
import { commitPoll } from '../support/committed-poll.ts'
import { CodeDoor, openEndpoint } from '../support/endpoint.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import type { TestRedis } from '../support/redis-server.ts'
import { asDocumented } from './as-documented.ts'

export const ADMIN_TOKEN = 'an-admin-token-for-tests'
export const BEARER = { authorization: `Bearer ${ADMIN_TOKEN}` }
export const ACCESS_TOKEN = 'access-token-that-nobody-may-see'
export const REFRESH_TOKEN = 'refresh-token-that-nobody-may-see'

const DAY_MS = 86_400_000

export interface Customer {
  hubId: number
  hubDomain?: string
  user?: string
  scopes?: string[]
}

type ServerOptions = Partial<Omit<HttpDeps, 'actions'>> & { actions?: Partial<HttpDeps['actions']> }

/** A server with a Redis prefix of its own, a provider that answers what a test says, and a clock that stands still. */
/** What a test of each receiver comes to. */
const TESTED: Record<string, TestedReceiver> = {
  'ops-hook': { outcome: { outcome: 'delivered', answer: 204 }, ms: 12, noted: 'recorded', fix: undefined },
  'ops-mail': {
    ...{ outcome: { outcome: 'retry', reason: 'connection refused' }, ms: 3, noted: 'recorded' },
    fix: 'check receivers.ops-mail.smtp',
  },
}

export async function openServer(redis: TestRedis, options: ServerOptions = {}) {
  const opened = await openLastingServer(redis, options)
  onTestFinished(() => opened.close())
  return opened
}

/** The same for several tests: who opens it closes it. */
export async function openLastingServer(redis: TestRedis, { actions, ...options }: ServerOptions = {}) {
  const clock = new HandClock()
  const logs = logLines()
  const keys = createKeys(`test-${randomBytes(6).toString('hex')}`)
  const steps = redis.connect('steps')
  const store = redis.connect('pages')
  const provider = new FakeProvider()
  const door = new CodeDoor()
  const connect: CodeDeps = {
    provider,
    endpoint: door,
    store: steps,
    keys,
    tokens: new TokenStore(steps, keys),
    unstored: new Unstored(() => {}),
    vault: createVault([{ id: 'k1', key: Buffer.alloc(32, 1) }]),
    announceScopes: () => NO_ALERT_WRITES,
    announce: tokenAnnouncer({
      pageOf: (hubId) => `http://x/accounts/${hubId}`,
    }),
    settings: { refreshFrom: 0.5, refreshBy: 0.8 },
    clock,
    log: logs.log,
  }
  const refreshing = {
    ...connect,
    ...{
      inFlight: new InFlight(10),
      endpoint: openEndpoint(steps, keys, systemClock),
      random: () => 0.5,
    },
  }
  const accessTokens = new AccessTokens({
    ...{ tokens: new TokenStore(store, keys), vault: connect.vault, clock },
    refresh: (hubId, generation) => refreshAccount(refreshing, hubId, generation),
    identify: async (hubId) => ((await identifyAccount(refreshing, hubId))?.is === 'later' ? 'later' : 'asked'),
  })
  const woken: number[] = []
  const looks: number[] = []
  const silences = new SilenceStore(store, keys, { vip: ['1'] })
  const deliveries = new Deliveries(store, keys)
  const queues = createQueues(redis.connect('queues'), keys.queues, clock, logs.log)
  const acknowledgeForMs = 7 * DAY_MS
  const config = configOf(SMALLEST)
  const audit = new AuditLog({ store, keys, clock, log: logs.log })
  const deps: HttpDeps = {
    listen: { host: '127.0.0.1', port: 0 },
    probesOnly: false,
    publicUrl: 'http://127.0.0.1',
    brand: { name: '127.0.0.1' },
    adminToken: mainToken(OF_CONFIG, new Secret(ADMIN_TOKEN)),
    openMetrics: false,
    trusted: undefined,
    install: {
      installUrl: 'https://provider.example.com/authorize',
      clientId: 'the-client',
      redirectUri: 'https://plimsoll.example.com/oauth/callback',
      scopes: ['oauth', 'crm.objects.contacts.read'],
      optionalScopes: [],
    },
    afterInstall: undefined,
    connect,
    store,
    keys,
    registry: new Registry(store, keys),
    history: new History(store, keys),
    historyKeep: { rawMs: 7 * DAY_MS, hourlyMs: 90 * DAY_MS, dailyMs: 800 * DAY_MS },
    coverage: new CoverageStore(store, keys, { objective: 0.95, freshnessMs: 26 * 3_600_000 }),
    failedCalls: new FailedCalls(store, keys, { warning: 0.03, critical: 0.05 }),
    samples: new KeptSamples(store, keys, { records: 'full', keepMs: 2_592_000_000 }),
    due: new DueSets(store, keys),
    deliveries,
    silences,
    tags: { vip: ['1'] },
    ackLinks: new AckLinks(
      () => connect.vault.deriveEach('acknowledge'),
      () => acknowledgeForMs,
    ),
    explain: {
      rules: [{ name: 'full', on: '*', warning: { percent: 80, count: 1 }, critical: { percent: 95 } }],
      ...{ recoverBelow: 3, for: 0, repeatEveryMs: DAY_MS, firstRun: 'digest', alertAfter: 1_800_000 },
      routes: [{ to: ['ops-mail'] }],
      group: { by: ['rule'], waitMs: 30_000, intervalMs: 300_000, max: 200 },
    },
    receiverStore: new ReceiverStore(store, keys),
    receivers: ['ops-hook', 'ops-mail'],
    queueDepths: () => readQueueDepths(queues, store),
    links: mailLinks({ ...config, http: { ...config.http, publicUrl: 'http://127.0.0.1' } }, connect.vault, clock),
    queueBoard: openQueueBoard(queues),
    metrics: createMetrics(),
    actions: {
      setContact: (hubId, address) => changeContact({ store, keys }, hubId, address),
      reconnectLink: (hubId) => reconnectLink(connect.vault, 'http://127.0.0.1', hubId, clock.now()),
      uninstall: (hubId, reason) =>
        beginUninstall({ ...connect, closeAlerts: () => NO_ALERT_WRITES }, hubId, { by: 'api', reason }),
      accessToken: (hubId, who) => serveAccessToken(accessTokens, { audit, log: logs.log }, hubId, who),
      connected: async (hubId) => {
        woken.push(hubId)
      },
      silence: (silence) => silences.add(silence),
      unsilence: (id) =>
        endSilence({ silences, held: { lookAgain: async (at) => void looks.push(at) } }, id, clock.now()),
      poll: async (hubId) => ({ account: await new Registry(store, keys).get(hubId), reason: undefined }),
      refresh: async (hubId) => {
        const account = await new Registry(store, keys).get(hubId)
        return account === undefined ? { is: 'unknown' } : { is: 'refreshed', account }
      },
      acknowledge: (seen, by) => acknowledgeAlert({ store, keys, acknowledgeForMs }, seen, by, clock.now()),
      unacknowledge: (seen) => unacknowledgeAlert({ store, keys }, seen, clock.now()),
      replay: async (wanted) => ({
        is: 'replayed',
        replayed: await deliveries.replay(wanted, clock.now()),
        disabled: [],
      }),
      testReceiver: async (name) => TESTED[name],
      ...actions,
    },
    health: async () => ({ alive: true, ready: true, findings: [] }),
    bounds: checkBounds(config),
    daemon: { evenMs: () => Number.POSITIVE_INFINITY },
    audit,
    clock,
    log: logs.log,
    ...options,
  }
  const http = await startHttpServer(deps)
  const close = async (patienceMs: number) => {
    await http.close(patienceMs)
    await queues.close()
  }
  const server = { ...http, close }
  const ask = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
    askServer(server.url, method, path, headers, body).then((answer) => asDocumented(method, path, answer))
  const signIn = async (token = ADMIN_TOKEN) => {
    const answer = await ask('POST', '/sign-in', FORM, `token=${token}`)
    return { cookie: String(answer.headers['set-cookie']).split(';')[0] ?? '' }
  }

  return {
    close: async () => {
      await server.close(5_000)
      await queues.close()
    },
    ...{ server, deps, clock, keys, queues, steps, provider, door, woken, looks, silences, logs, ask },
    get: (path: string, headers: Record<string, string> = BEARER) => ask('GET', path, headers),
    /** An account, connected through the step that the callback takes. */
    connectAccount: async (customer: Customer) => {
      provider.customer = customer
      await connectWithCode(connect, new Secret('code'))
    },
    /** A named admin token, known from the next second on. */
    addToken: async (name: string, ...scopes: Scope[]) => {
      const token = await new AdminTokenStore(steps, keys, connect.vault).add(name, scopes, clock.now())
      clock.move(1_000)
      return token === 'taken' ? token : token.reveal()
    },
    /** One poll that read these reports and found alerts in these states. */
    poll: async (hubId: number, readings: Readings, states: Record<string, SeriesState> = {}, shown?: Samples) => {
      const at = clock.now()
      await commitPoll(steps, keys, hubId, at, ({ readings: before, alertStates }) => {
        const packed = packPoll(readings, changeBetween(before.unpacked(), readings, at, 1_800_000))
        const changes = Object.entries(states).map(([id, state]): [string, string, string] => [
          id,
          alertStates[id] ?? '',
          encodeState(state),
        ])
        return {
          ...{ readings: packed.readings, freshAt: at },
          watch: shown === undefined ? {} : { records: { readAt: at, until: Date.now() + 2_592_000_000 } },
          more: { record: packed.record, samples: shown, alerts: { changes, entries: [] } },
        }
      })
    },
    /** Alerts about the whole fleet, by its trouble. */
    fleetAlerts: async (states: Record<string, SeriesState>) => {
      for (const [trouble, state] of Object.entries(states)) {
        await steps.hset(keys.account(NOBODY).alerts, trouble, encodeState(state))
      }
      await steps.sadd(keys.partition(keys.partitionOf(NOBODY)).alerting, NOBODY)
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
        ...{ cookie, csrf },
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
  return markup.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
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

function notAsked(): Promise<never> {
  return Promise.reject(new Error('not part of these tests'))
}

/** Answers what a test says. */
export class FakeProvider implements ProviderClient {
  customer: Customer = { hubId: 1 }
  tokenFailure: ProviderFailure | undefined
  metadataFailure: ProviderFailure | undefined
  /** What the token answer itself says of whose it is. */
  owner: TokenOwner | undefined
  codes: string[] = []
  refreshes = 0

  async exchangeCode(code: Secret) {
    this.codes.push(code.reveal())
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

  skewMs() {
    return undefined
  }

  deleteRefreshToken = notAsked
  limits = notAsked

  async close() {}
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
        { metric: 'customProperties.overall', usage: overallUsage, limit: 1000, reported: overallUsage / 10 },
        { metric: 'customProperties.objectType', objectTypeId, label, usage: 120, limit: 500, reported: 24 },
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
  return { level, rule, since, transitions: 1, toldAt: since, said: null, pending: null }
}
