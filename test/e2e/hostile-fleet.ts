import { HOSTILE } from '../delivery/email/many-mails.ts'
import type { Daemon } from '../support/daemon.ts'
import { type FarSide, startFarSide } from '../support/far-side.ts'
import { connectAll, eventually, mailsOf, send } from '../support/fleet.ts'
import { openScene } from '../support/scene.ts'

/** What runs in a browser, a terminal or a mail program if somebody lets it; the worst first, as long words are cut. */
const PAYLOADS = [
  `<script>window.ran=1</script><img src=x onerror="window.ran=1">`,
  `"><img src=x onerror=window.ran=1>" onmouseover="window.ran=1`,
  "' autofocus onfocus='window.ran=1' x=`${window.ran=1}`",
  '</title></textarea></style></svg></td><svg onload="window.ran=1"><script>window.ran=1</script>--><!--',
  'javascript:window.ran=1//" href="javascript:window.ran=1',
  '{{constructor.constructor("window.ran=1")()}}${7*7}<%= 7*7 %>',
  '\u202eegnp\u2066x\u2028y\r\nBcc: z\u0085w\u200bo\ufeff',
  '\u001b[31mred\u001b[2A\u001b]0;owned\u0007\u009b1m a\u0000<b onclick=window.ran=1>b',
  HOSTILE['ten kilobytes'] ?? '',
  `${HOSTILE.entities}${HOSTILE['half a surrogate']}${HOSTILE['stacked accents']}`,
]

/** Where strangers' words come in; each is followed by its payload wherever it is shown. */
export const SOURCES = [
  'domain',
  'user',
  'scope',
  'label',
  'record',
  'silence',
  'author',
  'acknowledger',
  'comment',
  'uninstall',
  'tokenError',
  'limitsError',
  'smtpAnswer',
] as const
export type Source = (typeof SOURCES)[number]

/** A word that stands nowhere else. */
export function markOf(source: Source): string {
  return `zq${source}`
}

export const ADMIN_TOKEN = 'an-admin-token-for-tests'

export interface HostileFleet {
  daemon: Daemon
  close(): Promise<void>
}

/**
 * A daemon with an account for each payload. Every word comes in as it does in life: from the provider's answers, what
 * receivers say, the API.
 */
export async function openHostileFleet(): Promise<HostileFleet> {
  const scene = await openScene({ accounts: 1, tokenLifetimeMs: 8_000 })
  const far = await startFarSide()
  let told = 0
  far.answer = (_request, response) => {
    response.writeHead(500, { 'content-type': 'text/html' })
    // Nobody reads it: a status is all that a webhook can say.
    response.end(PAYLOADS[told++ % PAYLOADS.length])
  }
  const hubIds = PAYLOADS.map((_, n) => 500 + n)
  for (const [n, hubId] of hubIds.entries()) await addCustomer(scene.sandbox.url, hubId, n)
  const smtp = { endpoint: 'smtp', status: 451, body: hostile('smtpAnswer', 0).slice(0, 400), times: 2 }
  await send(`${scene.sandbox.url}/sandbox/faults`, 'POST', smtp)
  const daemon = await scene.daemon(settingsWith(far))
  await connectAll(daemon.url, hubIds)
  const api = apiOf(daemon)
  await eventually('alerts of every account', async () => {
    const { items } = await api.get<{ items: { id: string; hubId: number }[] }>('/alerts?limit=500')
    return new Set(items.map(({ hubId }) => hubId)).size >= hubIds.length
  })
  // Before silences hold them back.
  await eventually('mails', async () => (await mailsOf(scene.sandbox.url)).length >= 8)
  await saySomething(api, hubIds)
  await breakDown(scene.sandbox.url, api, hubIds)
  return {
    daemon,
    close: async () => {
      await scene.close()
      await far.stop()
    },
  }
}

/** The n-th payload, led by the mark of where it comes in. */
function hostile(source: Source, n: number): string {
  return `${markOf(source)} ${PAYLOADS[n % PAYLOADS.length]}`
}

function settingsWith(far: FarSide): Record<string, object> {
  const receivers = { 'a-hook': { type: 'slack', url: `${far.url}/hook` } }
  return {
    receivers,
    routes: [{ to: ['ops-mail', 'a-hook'] }],
    http: { adminToken: ADMIN_TOKEN },
    limits: { every: '5s' },
    thresholds: [{ on: '*', warning: { percent: 50, count: 1 }, critical: { percent: 99 } }],
  } as unknown as Record<string, object>
}

async function addCustomer(sandboxUrl: string, hubId: number, n: number): Promise<void> {
  await send(`${sandboxUrl}/sandbox/accounts`, 'POST', { hubId, hubDomain: hostile('domain', n) })
  const metadata = {
    token: 'x',
    hub_id: hubId,
    hub_domain: hostile('domain', n),
    user: hostile('user', n),
    user_id: 1,
    app_id: 2,
    scopes: ['oauth', 'crm.objects.contacts.read', hostile('scope', n)],
    expires_in: 60,
    token_type: 'access',
  }
  await send(`${sandboxUrl}/sandbox/faults`, 'POST', { endpoint: 'metadata', hubId, status: 200, body: metadata })
  const label = hostile('label', n)
  const type = { singularLabel: label, pluralLabel: label, limit: 100, usage: 80, percentage: 80 }
  const report = {
    overallLimit: 1_000,
    overallUsage: 800,
    overallPercentage: 80,
    byObjectType: [
      { ...type, objectTypeId: '0-1' },
      { ...type, objectTypeId: `2-9${label.slice(0, 90)}` },
    ],
  }
  await put(`${sandboxUrl}/sandbox/accounts/${hubId}/custom-properties`, report)
  const record = { label: hostile('record', n), objectId: 77 }
  await put(`${sandboxUrl}/sandbox/accounts/${hubId}/associations/0-1/0-2`, {
    limit: 100,
    totalRecordsAtLimit: 1,
    totalRecordsNearLimit: 1,
    atLimitFromRecordSamples: [record],
    nearLimitFromRecordSamples: [{ ...record, objectId: 78, usage: 95, percentage: 95 }],
  })
}

async function put(url: string, body: object): Promise<void> {
  const { status } = await send(url, 'PUT', body)
  if (status !== 204) throw new Error(`${url} answered ${status}`)
}

type Api = ReturnType<typeof apiOf>

function apiOf(daemon: Daemon) {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' }
  return {
    get: async <T>(path: string): Promise<T> =>
      (await (await fetch(`${daemon.url}/api/v1${path}`, { headers })).json()) as T,
    post: async (path: string, body: object): Promise<number> =>
      (await fetch(`${daemon.url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).status,
  }
}

/** A silence and an acknowledgement for each account: what is too long or empty is refused, and stays outside. */
async function saySomething(api: Api, hubIds: readonly number[]): Promise<void> {
  const { items } = await api.get<{ items: { id: string; hubId: number }[] }>('/alerts?limit=500')
  for (const [n, hubId] of hubIds.entries()) {
    await api.post('/silences', {
      matchers: [{ name: 'account', value: String(hubId) }],
      comment: hostile('silence', n).slice(0, 400),
      endsAt: new Date(Date.now() + 3_600_000).toISOString(),
      author: hostile('author', n).slice(0, 90),
    })
    const alert = items.find((one) => one.hubId === hubId)
    if (alert === undefined) continue
    const by = hostile('acknowledger', n).slice(0, 90)
    await api.post(`/alerts/${alert.id}/acknowledge`, { by, comment: hostile('comment', n).slice(0, 400) })
  }
}

/** Errors whose words are the provider's: of tokens for every other account, of limits for the rest. */
async function breakDown(sandboxUrl: string, api: Api, hubIds: readonly number[]): Promise<void> {
  const fault = (endpoint: string, hubId: number, status: number, text: string) =>
    send(`${sandboxUrl}/sandbox/faults`, 'POST', {
      endpoint,
      hubId,
      status,
      body: { status: text, message: text, error: text, error_description: text, category: text, correlationId: text },
    })
  await Promise.all(
    hubIds.map((hubId, n) =>
      n % 2 === 0
        ? fault('token', hubId, 400, hostile('tokenError', n))
        : fault('customProperties', hubId, 500, hostile('limitsError', n)),
    ),
  )
  await Promise.all(
    hubIds
      .slice(-2)
      .map((hubId, n) => api.post(`/accounts/${hubId}/uninstall`, { reason: hostile('uninstall', n).slice(0, 200) })),
  )
  await eventually(
    'errors of the provider and of receivers',
    async () => {
      const { items } = await api.get<{
        items: { state: string; pollFailure: object | null; refreshFailure: object | null }[]
      }>('/accounts?limit=500')
      const failed = items.filter(({ pollFailure }) => pollFailure !== null).length
      const refused = items.filter(({ refreshFailure }) => refreshFailure !== null).length
      const attempts = JSON.stringify(await api.get('/deliveries?limit=500'))
      return failed > 2 && refused > 2 && attempts.includes(markOf('smtpAnswer'))
    },
    90_000,
  )
}
