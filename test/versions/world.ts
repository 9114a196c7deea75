import { type FarSide, json, raw, startFarSide } from '../support/far-side.ts'
import { ADMIN_TOKEN, freePort } from '../support/fleet.ts'

/** Accounts of every data set, each in a state of its own. */
export const HUBS = {
  open: 1000001,
  acknowledged: 1000002,
  silenced: 1000003,
  over: 1000004,
  grouped: 1000005,
  uninstalled: 1000006,
  quiet: 1000007,
} as const

/** The far side of all data sets: a provider that vouches for any token with a hub id in it, and two webhook receivers. */
export interface World {
  readonly url: string
  /** Custom properties of an account, of 1,000; 100 where nothing is set. */
  readonly usage: Map<number, number>
  /** Transitions that each receiver took, in their order. */
  readonly taken: { up: string[]; down: string[] }
  /** Accounts whose limits were read, and whose tokens were refreshed, once for each time. */
  readonly read: number[]
  readonly refreshed: number[]
  isDownAway: boolean
  stop(): Promise<void>
}

/** `now`: by its clock, which a provider's answers show. */
export async function startWorld(now: () => number = Date.now): Promise<World> {
  const farSide = await startFarSide()
  const world = {
    ...{ url: farSide.url, usage: new Map<number, number>(), taken: { up: [], down: [] }, read: [], refreshed: [] },
    ...{ isDownAway: false, stop: () => farSide.stop() },
  }
  farSide.answer = (request, response) => {
    response.setHeader('date', new Date(now()).toUTCString())
    answerOf(world, request)(request, response)
  }
  return world
}

function answerOf(world: World, { path, headers, body }: FarSide['seen'][number]): FarSide['answer'] {
  if (path === '/up') return take(world.taken.up, body)
  if (path === '/down') return world.isDownAway ? raw(503, 'away') : take(world.taken.down, body)
  const hubId = Number(/(?:access|refresh)-(\d+)/.exec(`${path} ${headers.authorization ?? ''} ${body}`)?.[1])
  if (path === '/oauth/v1/token') {
    world.refreshed.push(hubId)
    const given = { token_type: 'bearer', expires_in: 1800 }
    return json(200, { ...given, access_token: `access-${hubId}`, refresh_token: `refresh-${hubId}` })
  }
  if (path.startsWith('/oauth/v1/access-tokens/')) {
    const about = { hub_id: hubId, hub_domain: `acme-${hubId}.example.com`, user: `admin@acme-${hubId}.example.com` }
    return json(200, { ...about, token_type: 'access', expires_in: 1800, scopes: SCOPES, app_id: 1, user_id: 2 })
  }
  if (path.startsWith('/oauth/v1/refresh-tokens/')) return raw(204, '')
  if (!path.endsWith('/custom-properties')) {
    return json(200, {
      ...{ limit: 50_000, totalRecordsAtLimit: 0, totalRecordsNearLimit: 1, atLimitFromRecordSamples: [] },
      nearLimitFromRecordSamples: [{ label: 'Acme', objectId: 5, percentage: 82, usage: 41_000 }],
    })
  }
  world.read.push(hubId)
  return json(200, customProperties(world.usage.get(hubId) ?? 100))
}

function customProperties(usage: number): object {
  const contacts = { objectTypeId: '0-1', singularLabel: 'Contact', pluralLabel: 'Contacts' }
  return {
    ...{ overallLimit: 1000, overallUsage: usage, overallPercentage: usage / 10 },
    byObjectType: [{ ...contacts, limit: 1000, usage: 100, percentage: 10 }],
  }
}

function take(taken: string[], body: string): FarSide['answer'] {
  const { data } = JSON.parse(body) as { data: { alerts: { id: string }[] } }
  taken.push(...data.alerts.map(({ id }) => id))
  return raw(200, '')
}

const SCOPES = ['oauth', 'crm.objects.contacts.read']

/** A config that every version takes. */
export async function configFor(
  world: World,
  redis: { url: string; prefix?: string },
  dataDir: string,
): Promise<object> {
  const listen = `127.0.0.1:${await freePort()}`
  const provider = { clientId: 'an-app', clientSecret: 'a-secret', scopes: SCOPES }
  const secrets = [`whsec_${Buffer.alloc(32, 5).toString('base64')}`]
  return {
    provider: { ...provider, baseUrl: world.url, installUrl: `${world.url}/install` },
    redis,
    dataDir,
    encryption: { keys: [{ id: 'k1', key: Buffer.alloc(32, 7).toString('base64') }] },
    schedule: { refreshTokens: '* * * * * *', pollLimits: '* * * * * *' },
    limits: { every: '2s', associations: [{ from: '0-1', to: '0-2' }] },
    thresholds: [{ on: 'customProperties.overall', warning: { percent: 80 }, critical: { percent: 95 } }],
    alerts: { firstRun: 'alert', group: { by: ['rule', 'account'], wait: '3s', interval: '3s' } },
    routes: [{ to: ['up', 'down'] }],
    receivers: {
      up: { type: 'webhook', url: `${world.url}/up`, secrets },
      down: { type: 'webhook', url: `${world.url}/down`, secrets },
    },
    http: { listen, publicUrl: `http://${listen}`, adminToken: ADMIN_TOKEN },
  }
}
