import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { createQueues } from '../../jobs/queues.ts'
import { type Alert, alertOf } from '../../src/alerts/alert.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { dropQueues, isQuiet, readTransitions } from '../support/after-kills.ts'
import { plimsollHere } from '../support/command.ts'
import { dice } from '../support/dice.ts'
import { connectAll, eventually, hubIdsOf } from '../support/fleet.ts'
import { Impatience } from '../support/impatience.ts'
import { logLines } from '../support/log-lines.ts'
import { MovedSeries } from '../support/moved-series.ts'
import { say } from '../support/say.ts'
import { sceneFor } from '../support/scene.ts'

const KEYS = createKeys('plimsoll')
const SEED = Number(process.env.PLIMSOLL_SEED ?? Date.now() % 1_000_000)
const KILLS = 4
const MOVES_A_LIFE = 12

interface Service {
  settings: (url: string) => Record<string, unknown>
  /** How it refuses what may come again, and how it takes a message. */
  refuses: (response: ServerResponse) => unknown
  takes: (response: ServerResponse) => unknown
}

const answer =
  (status: number, body = '', headers = {}) =>
  (response: ServerResponse) =>
    response.writeHead(status, headers).end(body)

const SERVICES: Record<string, Service> = {
  slack: {
    settings: (url) => ({ url }),
    refuses: answer(429, 'rate_limited', { 'retry-after': '1' }),
    takes: answer(200, 'ok'),
  },
  teams: {
    settings: (url) => ({ url }),
    refuses: answer(429, '{"error":{"code":"WorkflowTriggerRateLimitExceeded"}}'),
    takes: answer(202),
  },
  telegram: {
    settings: (url) => ({ url, botToken: '1:abc', chat: '-100' }),
    refuses: answer(429, '{"ok":false,"error_code":429,"parameters":{"retry_after":1}}'),
    takes: answer(200, '{"ok":true}'),
  },
  ntfy: {
    settings: (url) => ({ url, topic: 'ops' }),
    refuses: answer(429, '{"code":42901,"http":429,"error":"limit reached"}'),
    takes: answer(200, '{"id":"x"}'),
  },
  // Its 204 says that nothing was sent.
  apprise: { settings: (url) => ({ url: `${url}/notify/key` }), refuses: answer(204), takes: answer(200) },
}
const NAMES = Object.keys(SERVICES)

/** An alert as a message shows it: the template below, whatever the service wraps around it. */
interface Shown {
  alert: string
  isOver: boolean
  level: string
  measuredAt: string
  /** How many transitions it is about, by its words: itself and those before it that were not sent. */
  transitions: number
}

const FIELDS = ['id', 'status', 'level', 'measuredAt', 'happened'].map((name) => `{{ alert.${name} }}`).join(' ')
const TEMPLATE = { title: 'alerts', body: `{% for alert in alerts %}${FIELDS};{% endfor %}` }
const SHOWN = /([0-9a-f]{16}) (firing|resolved) (warning|critical) ([\d-]+T[\d:.]+Z) ([^;]*);/g

function shownIn(body: string): Shown[] {
  return [...body.matchAll(SHOWN)].map(([, alert = '', status, level = '', measuredAt = '', happened = '']) => ({
    alert,
    isOver: status === 'resolved',
    level,
    measuredAt,
    transitions: Number(/It changed (\d+) times/.exec(happened)?.[1] ?? 1),
  }))
}

/** One service of a server: it refuses as often as it is to, then takes what comes, and may never say so. */
interface Far {
  taken: Shown[]
  toRefuse: number
  refused: number
  /** What it takes is not answered. */
  isSilent: boolean
  unanswered: number
}

async function startServices() {
  const services = new Map(
    NAMES.map((name): [string, Far] => [name, { taken: [], toRefuse: 0, refused: 0, isSilent: false, unanswered: 0 }]),
  )
  const server = createServer((request, response) => {
    response.on('error', () => {})
    text(request).then(
      (body) => {
        const [, name = ''] = request.url?.split('/') ?? []
        const [far, service] = [services.get(name), SERVICES[name]]
        if (far === undefined || service === undefined) return answer(404)(response)
        if (far.toRefuse > 0) {
          far.toRefuse--
          far.refused++
          return service.refuses(response)
        }
        far.taken.push(...shownIn(body))
        if (!far.isSilent) return service.takes(response)
        far.unanswered++
      },
      () => {}, // A daemon that is killed hangs up.
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  })
  const { port } = server.address() as AddressInfo
  return { services, urlOf: (name: string) => `http://127.0.0.1:${port}/${name}` }
}

test('daemons killed while services take a message, after each has refused one as it does: all arrives, in its order', async (context) => {
  say(`PLIMSOLL_SEED=${SEED}`)
  const begun = Date.now()
  const { services, urlOf } = await startServices()
  const scene = await sceneFor(context, { accounts: 3, tokenLifetimeMs: 3_600_000 })
  const store = scene.redis.connect()
  const receivers = NAMES.map((name) => [
    name,
    { type: name, template: TEMPLATE, ...SERVICES[name]?.settings(urlOf(name)) },
  ])
  const settings = {
    limits: { every: '1h' },
    thresholds: [{ on: 'customProperties.objectType', warning: { percent: 80 }, critical: { percent: 95 } }],
    alerts: { group: { by: ['account'], wait: '100ms', interval: '300ms' } },
    receivers: Object.fromEntries(receivers),
    routes: [{ to: NAMES }],
  }
  const hubIds = await hubIdsOf(scene.sandbox.url)
  const at = { store, keys: KEYS, sandboxUrl: scene.sandbox.url, roll: dice(SEED) }
  const series = new MovedSeries(at, hubIds, 3)
  await series.reportAll()
  let daemon = await scene.daemon(settings)
  await connectAll(daemon.url, hubIds)
  await eventually('readings', () => series.isRead())
  const queues = createQueues(scene.redis.connect('queues'), KEYS.queues, systemClock, logLines().log)
  context.onTestFinished(() => queues.close())
  const impatience = new Impatience(store, KEYS, queues)
  const soon = (what: string, moves: number, is: () => boolean | Promise<boolean>) =>
    eventually(
      what,
      async () => {
        await series.move(moves, Date.now())
        await impatience.look(Date.now())
        return is()
      },
      60_000,
    )

  for (let life = 1; life <= KILLS; life++) {
    for (const far of services.values()) Object.assign(far, { toRefuse: 1, isSilent: true, unanswered: 0 })
    const isTaken = () => [...services.values()].every(({ toRefuse, unanswered }) => toRefuse === 0 && unanswered > 0)
    await soon('refused by each, then taken and not answered', life * MOVES_A_LIFE, isTaken)
    await daemon.kill()
    await dropQueues(store, KEYS)
    for (const far of services.values()) far.isSilent = false
    daemon = await scene.daemon(settings)
  }
  const moves = (KILLS + 1) * MOVES_A_LIFE
  await soon('the last of it', moves, async () => series.moved >= moves && (await series.isCommitted()))
  await soon('nothing is on its way', moves, () => isQuiet(store, KEYS))

  const transitions = await readTransitions(store, KEYS)
  const alerts = Map.groupBy(transitions.values(), alertOf)
  for (const [name, { taken, refused }] of services) {
    expect({ name, refused }).toEqual({ name, refused: KILLS })
    const lacking = [...alerts].filter(
      ([id, all]) =>
        !isAllIn(
          taken.filter(({ alert }) => alert === id),
          all,
        ),
    )
    expect(lacking.map(([id]) => ({ name, id }))).toEqual([])
    expect(faultsIn(taken).map((fault) => ({ name, ...fault }))).toEqual([])
  }
  const { code, out } = await plimsollHere(
    ['outbox', 'verify', '--json', '--config', await scene.configFile(settings)],
    scene.folder,
  )
  expect({ code, ...JSON.parse(out) }).toMatchObject({
    code: 0,
    balanced: true,
    pending: 0,
    missing: [],
    unresolved: [],
  })
  const copies = [...services].map(([name, { taken }]) => `${name} ${taken.length}`).join(', ')
  say(`${transitions.size} transitions of ${alerts.size} alerts, ${KILLS} kills in ${Date.now() - begun} ms: ${copies}`)
  expect(await daemon.stop()).toBe(0)
})

/** The newest came last, and each either came or is counted in a later one. */
function isAllIn(taken: readonly Shown[], transitions: readonly Alert[]): boolean {
  const moments = transitions.map(({ measuredAt }) => measuredAt).sort()
  const isTold = (at: number) =>
    taken.some(({ measuredAt, transitions: count }) => {
      const last = moments.indexOf(measuredAt)
      return at <= last && at > last - count
    })
  return taken.at(-1)?.measuredAt === moments.at(-1) && moments.every((_, at) => isTold(at))
}

/** What came after something newer, an end whose beginning was not sent and is not in it, and a beginning after its end. */
function faultsIn(taken: readonly Shown[]) {
  const before = new Map<string, Shown>()
  return taken.flatMap((shown) => {
    const { alert, measuredAt, isOver, transitions } = shown
    const last = before.get(alert)
    before.set(alert, shown)
    const isOlder = last !== undefined && measuredAt < last.measuredAt
    const lacksBeginning = last === undefined && isOver && transitions === 1
    const isAfterEnd = last?.isOver === true && !isOver
    return isOlder || lacksBeginning || isAfterEnd ? [{ last, shown }] : []
  })
}
