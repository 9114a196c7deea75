import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Secret } from '../../src/runtime/secret.ts'
import { type FarSide, startFarSide } from '../support/far-side.ts'
import { CUSTOM_PROPERTIES, connectClient, type TestedClient, TOKENS } from './connect-client.ts'

const token = new Secret('refresh-1')
let far: FarSide
let client: TestedClient
beforeAll(async () => {
  far = await startFarSide()
  client = connectClient(far.url)
})
afterAll(async () => {
  await client.close()
  await far.stop()
})

function answer(body: Buffer, headers: Record<string, string> = {}): void {
  far.answer = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body)
  }
}

const plain = Buffer.from(JSON.stringify(TOKENS))
const utf16 = Buffer.from(plain.toString(), 'utf16le')
const mark = Buffer.from([0xff, 0xfe])
const bigEndian = (body: Buffer) => Buffer.from(body).swap16()
const utf8Mark = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), plain])

const BODIES: [name: string, body: Buffer, encoding?: string][] = [
  ['plain', plain],
  ['plain, labeled gzip', plain, 'gzip'],
  ['plain, labeled br', plain, 'br'],
  ['plain, of an unknown encoding', plain, 'aws-chunked'],
  ['gzip', gzipSync(plain), 'gzip'],
  ['gzip, by its old name', gzipSync(plain), 'X-GZIP'],
  ['gzip without a header', gzipSync(plain)],
  ['gzip, labeled br', gzipSync(plain), 'br'],
  ['gzip twice, labeled once', gzipSync(gzipSync(plain)), 'gzip'],
  ['gzip in br', brotliCompressSync(gzipSync(plain)), 'gzip, br'],
  ['gzip with trailing bytes', Buffer.concat([gzipSync(plain), Buffer.alloc(7)]), 'gzip'],
  ['deflate', deflateSync(plain), 'deflate'],
  ['deflate without a header', deflateSync(plain)],
  ['raw deflate', deflateRawSync(plain), 'deflate'],
  ['raw deflate without a header', deflateRawSync(plain)],
  ['br', brotliCompressSync(plain), 'br'],
  ['br without a header', brotliCompressSync(plain)],
  ['with a byte order mark', utf8Mark],
  ['with a byte order mark, in gzip', gzipSync(utf8Mark), 'gzip'],
  ['UTF-16, little end first', Buffer.concat([mark, utf16])],
  ['UTF-16, big end first', bigEndian(Buffer.concat([mark, utf16]))],
  ['UTF-16 without a mark', utf16],
  ['UTF-16 without a mark, big end first', bigEndian(utf16)],
  ['UTF-16 in gzip', gzipSync(Buffer.concat([mark, utf16]))],
  ['with trailing bytes', Buffer.concat([plain, Buffer.from('\0\0')])],
  ['with a comment behind it', Buffer.concat([plain, Buffer.from('\n<!-- } scanned " -->')])],
  ['with line breaks around it', Buffer.from(`\r\n ${plain.toString()}\r\n`)],
]

describe('new tokens are read', () => {
  test.each(BODIES)('%s', async (_, body, encoding) => {
    answer(body, encoding === undefined ? {} : { 'content-encoding': encoding })
    const result = await client.refresh(token)
    expect(result).toMatchObject({ ok: true, value: { lifetimeMs: 1_800_000 } })
    expect(result.ok && result.value.accessToken.reveal()).toBe(TOKENS.access_token)
    expect(result.ok && result.value.refreshToken?.reveal()).toBe(TOKENS.refresh_token)
  })

  test.each([['1800'], [' 1800 ']])('with a life that is the text %j', async (expires_in) => {
    answer(Buffer.from(JSON.stringify({ ...TOKENS, refresh_token: undefined, expires_in })))
    expect(await client.refresh(token)).toMatchObject({ ok: true, value: { lifetimeMs: 1_800_000 } })
  })
})

test('no encoding is asked for, and a report is unpacked like tokens are', async () => {
  answer(gzipSync(JSON.stringify(CUSTOM_PROPERTIES)))
  expect(await client.customProperties(token)).toMatchObject({ ok: true, value: { values: [{ usage: 960 }, {}] } })
  expect(far.seen.at(-1)?.headers['accept-encoding']).toBe('identity')
})

test.each([
  ['gzip', gzipSync],
  ['br', brotliCompressSync],
  ['deflate', deflateSync],
] as const)('%s that unpacks to more than an answer may have is cut off', async (encoding, pack) => {
  const bomb = pack(Buffer.alloc(3_000_000, 32))
  answer(bomb, { 'content-encoding': encoding })
  const failure = { class: 'transient', code: 'too-large', message: 'the answer is larger than 2000000 bytes' }
  expect(await client.refresh(token)).toMatchObject({ ok: false, failure })
})

describe('an error with a status of success', () => {
  test.each([
    [
      { error: 'invalid_grant', error_description: 'refresh token is revoked' },
      { class: 'rejected', code: 'invalid_grant', message: 'the provider answered 200: refresh token is revoked' },
    ],
    [{ error: 'invalid_client' }, { class: 'client', code: 'invalid_client' }],
    [{ error: 'temporarily_unavailable' }, { class: 'transient', code: 'temporarily_unavailable' }],
    [{ error: 'who knows' }, { class: 'transient', code: 'unreadable' }],
  ])('%j is that error', async (body, failure) => {
    answer(Buffer.from(JSON.stringify(body)))
    expect(await client.refresh(token)).toMatchObject({ ok: false, failure })
  })
})
