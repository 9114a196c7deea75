import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { answerInstall } from '../../src/http/pages/install/install-answer.ts'
import type { ProviderFailure, ProviderResult } from '../../src/provider/failure.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { causeOf } from '../../src/tokens/endpoint/breaker.ts'
import { type FarSide, raw, startFarSide } from '../support/far-side.ts'
import { connectClient, type TestedClient } from './connect-client.ts'

/**
 * Every status that is no success, with every kind of body, at each endpoint: the class, what it means for all accounts, what
 * the operator reads, what a customer gets at the install page. The table is a text beside this test; PLIMSOLL_WRITE=1 writes it anew.
 */
const FILE = join(import.meta.dirname, 'answer-table.txt')

const BODIES: Record<string, string> = {
  html: '<!DOCTYPE html><html><head><title>Attention Required!</title></head></html>',
  empty: '',
  foreign: '{"status":403,"message":"Forbidden","requestId":"r-1"}',
  cut: '{"status":"error","message":"This app has',
  crm: '{"status":"error","message":"no","correlationId":"c","category":"VALIDATION_ERROR"}',
  hublet: '{"status":"error","message":"Hub 7 is unknown to this Hublet","correctHublet":"eu1"}',
  grant: '{"error":"invalid_grant","error_description":"refused","status":"BAD_REFRESH_TOKEN","message":"refused"}',
  app: '{"error":"invalid_client","status":"BAD_CLIENT_SECRET","message":"wrong secret"}',
  later: '{"error":"temporarily_unavailable","error_description":"busy"}',
}
/** Bodies without a word of the provider. */
const STRANGERS = ['html', 'empty', 'foreign', 'cut']

const token = new Secret('token-1')
const CALLS: Record<string, (client: TestedClient) => Promise<ProviderResult<unknown>>> = {
  token: (client) => client.refresh(token),
  code: (client) => client.exchangeCode(token),
  metadata: (client) => client.metadata(token),
  report: (client) => client.customProperties(token),
}

interface Row {
  endpoint: string
  body: string
  status: number
  failure: ProviderFailure
}

let far: FarSide
let client: TestedClient
const rows: Row[] = []
beforeAll(async () => {
  far = await startFarSide()
  client = connectClient(far.url)
  for (const [endpoint, call] of Object.entries(CALLS)) {
    for (const [body, text] of Object.entries(BODIES)) {
      for (let status = 400; status <= 599; status++) {
        far.answer = raw(status, text, { 'content-type': 'application/json' })
        const result = await call(client)
        if (!result.ok) rows.push({ endpoint, body, status, failure: result.failure })
      }
    }
  }
})
afterAll(async () => {
  await client.close()
  await far.stop()
})

function pageOf(failure: ProviderFailure): string {
  const page = answerInstall({ is: 'failed', step: 'token', failure }, 0, { app: 'Acme', state: 's' })
  return `${page.status} ${page.title}`
}

/** Neighbouring statuses that mean the same are one line. */
function tableText(): string {
  const lines: { head: string; from: number; to: number; tail: string }[] = []
  for (const { endpoint, body, status, failure } of rows) {
    const cause = endpoint === 'token' ? ` | ${causeOf(failure) ?? 'no trouble of the fleet'}` : ''
    const page = endpoint === 'code' ? ` | ${pageOf(failure)}` : ''
    const message = failure.message.replaceAll(String(status), 'STATUS')
    const code = failure.code === String(status) ? 'STATUS' : failure.code
    const [head, tail] = [`${endpoint} ${body}`, `${failure.class} ${code} | ${message}${cause}${page}`]
    const last = lines.at(-1)
    if (last?.head === head && last.tail === tail && last.to === status - 1) last.to = status
    else lines.push({ head, from: status, to: status, tail })
  }
  return lines.map(({ head, from, to, tail }) => `${head} ${from === to ? from : `${from}-${to}`} | ${tail}\n`).join('')
}

test('every answer means what the table says', () => {
  if (process.env.PLIMSOLL_WRITE === '1') writeFileSync(FILE, tableText())
  expect(tableText()).toBe(readFileSync(FILE, 'utf8'))
  expect(rows).toHaveLength(Object.keys(CALLS).length * Object.keys(BODIES).length * 200)
})

describe('of all of them', () => {
  const those = (fits: (row: Row) => boolean) => rows.filter(fits)

  test('without a word of the provider only a time to wait follows, for account, app and customer', () => {
    for (const row of those(({ body }) => STRANGERS.includes(body))) {
      expect(row.failure.class, JSON.stringify(row)).toBe('transient')
      expect(causeOf(row.failure)).toBe(row.failure.status === 429 ? undefined : 'unreachable')
      expect(pageOf(row.failure)).toBe('503 HubSpot could not be reached')
    }
  })

  test('a page is told as the page of a firewall or proxy, by its title', () => {
    for (const { status, failure } of those(({ body }) => body === 'html'))
      expect(failure.message).toBe(`a page of a firewall or proxy (${status}): Attention Required!`)
  })

  test('statuses of proxies and load balancers mean nothing, whatever the body', () => {
    const ofProxies = (status: number) =>
      [407, 421, 451].includes(status) || (status >= 460 && status < 500 && status !== 477 && status !== 488)
    for (const { failure } of those(({ status }) => ofProxies(status))) expect(failure.class).toBe('transient')
  })

  test('the client secret is named only where the provider refused the app itself', () => {
    for (const row of those(({ failure }) => causeOf(failure) === 'credentials')) expect(row.body).toBe('app')
  })

  test('a scope is missing, or an access token is over, only by the provider’s own JSON', () => {
    const isRefused = ({ failure }: Row) => failure.class === 'forbidden' || failure.class === 'unauthorized'
    for (const row of those(isRefused)) {
      expect(['report', 'metadata']).toContain(row.endpoint)
      expect(STRANGERS).not.toContain(row.body)
    }
  })

  test('an account in another data center is told as that by 488 alone, at API and token endpoint alike', () => {
    const elsewhere = those(({ failure }) => failure.code === 'other-data-center')
    expect(elsewhere.map(({ endpoint, body, status }) => `${endpoint} ${body} ${status}`)).toEqual(
      Object.keys(CALLS).map((endpoint) => `${endpoint} hublet 488`),
    )
    for (const { failure } of elsewhere) {
      expect(failure.message).toBe('the account is in data center eu1: connect it again')
      expect(causeOf(failure)).toBeUndefined()
    }
  })
})
