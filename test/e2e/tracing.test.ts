import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Daemon } from '../support/daemon.ts'
import { ask, connectAll, eventually, hubIdsOf } from '../support/fleet.ts'
import { openScene, type Scene } from '../support/scene.ts'

interface Span {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  attributes: { key: string; value: Record<string, unknown> }[]
}

/** A real receiver of OTLP over HTTP, and all that came. */
let collector: Server
let scene: Scene
let daemon: Daemon
let hubIds: number[]
const bodies: string[] = []
const seenHeaders = new Set<string | undefined>()
const spans: Span[] = []

beforeAll(async () => {
  collector = createServer(async (request, response) => {
    const body = await text(request)
    bodies.push(body)
    seenHeaders.add(request.headers.authorization)
    const { resourceSpans } = JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }
    spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)))
    response.setHeader('content-type', 'application/json').end('{}')
  }).listen(0, '127.0.0.1')
  await once(collector, 'listening')
  scene = await openScene({ accounts: 2, tokenLifetimeMs: 6_000 })
  daemon = await scene.daemon({
    telemetry: { url: collectorUrl(), service: 'plimsoll-test', authorization: 'Bearer the-collectors-own-secret' },
    thresholds: [{ on: 'customProperties.overall', warning: { percent: 1 } }],
  } as never)
  hubIds = await hubIdsOf(scene.sandbox.url)
  await connectAll(daemon.url, hubIds)
}, 240_000)
afterAll(async () => {
  await scene.close()
  collector.closeAllConnections()
  collector.close()
})

const collectorUrl = () => `http://127.0.0.1:${(collector.address() as AddressInfo).port}/v1/traces`
const factOf = (span: Span, key: string) =>
  Object.values(span.attributes.find((attribute) => attribute.key === key)?.value ?? {})[0]

/** Its span, the one above it, and so on. */
function lineOf(span: Span): Span[] {
  const above = spans.find(({ spanId, traceId }) => spanId === span.parentSpanId && traceId === span.traceId)
  return above === undefined ? [span] : [span, ...lineOf(above)]
}

test('a trace leads from the tick to the chunk of accounts, over Redis', async () => {
  const lines = () =>
    spans.filter(({ name }) => name === 'process refresh-tokens').map((span) => lineOf(span).map(({ name }) => name))
  await eventually('a refresh in a trace that a tick began', async () => lines().some((line) => line.at(-1) === 'tick'))
  const whole = lines().find((line) => line.at(-1) === 'tick')
  expect(whole?.slice(0, 3)).toEqual(['process refresh-tokens', 'addBulk refresh-tokens', 'sweep'])
  const chunk = spans.find(({ name }) => name === 'process refresh-tokens') as Span
  expect(Number(factOf(chunk, 'plimsoll.accounts'))).toBeGreaterThan(0)
  const tick = spans.find(({ name }) => name === 'tick') as Span
  expect(factOf(tick, 'plimsoll.sweep')).toMatch(/^[a-z-]+$/)
})

test('and from the poll that saw a crossing to what was sent', async () => {
  const isSent = (span: Span) => span.name === 'send' && lineOf(span).some(({ name }) => name === 'sweep')
  await eventually('a message that was sent', async () => spans.some(isSent))
  const sent = spans.find(isSent) as Span
  expect(['ops-mail', 'ops-hook']).toContain(factOf(sent, 'plimsoll.receiver'))
  expect(lineOf(sent)[1]?.name).toBe('process deliver')
})

test('nobody is named in it, and nothing is told that is secret', async () => {
  const tokens = await Promise.all(
    hubIds.map(async (hubId) => {
      const answer = await ask(`${daemon.url}/api/v1/accounts/${hubId}/token`)
      return ((await answer.json()) as { accessToken: string }).accessToken
    }),
  )
  const all = bodies.join('\n')
  for (const word of [...tokens, 'example.com', 'sandbox-client-secret', 'the-collectors-own-secret']) {
    expect(word).not.toBe(undefined)
    expect(all).not.toContain(word)
  }
  for (const hubId of hubIds) expect(all).not.toMatch(new RegExp(`"(string|int)Value":"?${hubId}"?\\b`))
  expect([...seenHeaders]).toEqual(['Bearer the-collectors-own-secret'])
  // What only says that there was nothing to do is not sent.
  expect(spans.filter(({ name }) => /^(getNextJob|complete|moveStalled)/.test(name))).toEqual([])
})

test('a collector that goes away is told of once, and holds up neither work nor stop; what is left is sent', async () => {
  collector.closeAllConnections()
  await new Promise((resolve) => collector.close(resolve))
  await daemon.line(/"telemetry.away"/, 0)
  const refreshesSoFar = await refreshes()
  await eventually('refreshes that go on', async () => (await refreshes()) > refreshesSoFar)
  expect(await daemon.stop()).toBe(0)
  expect(daemon.lines.filter((line) => line.includes('"telemetry.away"'))).toHaveLength(1)
  expect(daemon.lines.join('\n')).not.toContain('the-collectors-own-secret')
})

test('where the config has no collector nothing of it is loaded', () => {
  const root = new URL('../../', import.meta.url).pathname
  const files = ['src', 'jobs'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(root, folder, name)),
  )
  const loading = files
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => readFileSync(file, 'utf8').split('\n'))
    .filter((line) => /['/](open-tracing\.ts|bullmq-otel)'/.test(line))
  expect(loading.map((line) => line.trim()).sort()).toEqual([
    "const { BullMQOtel } = await import('bullmq-otel')",
    "const { openTracing } = await import('../runtime/open-tracing.ts')",
  ])
})

async function refreshes(): Promise<number> {
  const metrics = await (await ask(`${daemon.url}/metrics`)).text()
  return Number(/^plimsoll_token_refreshes_total\{outcome="refreshed"\} (\d+)$/m.exec(metrics)?.[1])
}
