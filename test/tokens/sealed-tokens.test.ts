import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Secret } from '../../src/runtime/secret.ts'
import { readGrant } from '../../src/tokens/parked-grants.ts'
import { PendingTokens } from '../../src/tokens/pending-tokens.ts'
import { rekeyAll } from '../../src/tokens/rekey.ts'
import { describeStuck, resealLines, SealedFile, storeSealed, unopenedLines } from '../../src/tokens/sealed-tokens.ts'
import { type AnswerToStore, type Grant, TokenStore, type TokensToStore } from '../../src/tokens/token-store.ts'
import { createVault, type VaultKey } from '../../src/tokens/vault.ts'
import { anAnswer, seedAccount, storedTokens, vault, vaultKey } from '../support/accounts.ts'
import { eventually } from '../support/fleet.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'plimsoll-answers-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

class Refusing extends TokenStore {
  override storeTokens(): Promise<never> {
    return Promise.reject(new Error('READONLY'))
  }
}

/** Neither takes nor refuses anything until it is back. */
class Silent extends TokenStore {
  readonly back = Promise.withResolvers<void>()
  override async storeTokens(...given: Parameters<TokenStore['storeTokens']>) {
    await this.back.promise
    return super.storeTokens(...given)
  }
}

/** Accounts with tokens of version 1, and a process that stores answers. */
async function installation(...hubIds: number[]) {
  const keys = redis.freshKeys()
  const clock = new HandClock()
  for (const hubId of hubIds) {
    await seedAccount(redis.store, keys, { hubId, obtainedAt: clock.now() })
  }
  const logged = logLines()
  const process = (tokens = new TokenStore(redis.store, keys, clock), its = vault) => {
    const parts = { tokens, vault: its, clock, log: logged.log }
    return { ...parts, pending: new PendingTokens({ ...parts, file: new SealedFile(its, dataDir) }), keys }
  }
  const answer = (hubId: number, more: Partial<AnswerToStore> = {}) => anAnswer(hubId, clock.now(), more)
  const stored = (hubId: number) => storedTokens(redis.store, keys, hubId)
  const [refusing, silent] = [new Refusing(redis.store, keys, clock), new Silent(redis.store, keys, clock)]
  return { process, answer, stored, logged, clock, refusing, silent }
}

const seal = (its: ReturnType<typeof createVault>, ...all: TokensToStore[]) => new SealedFile(its, dataDir).write(all)
const files = () => {
  const folder = join(dataDir, 'answers')
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []
}
const NEW = { access: 'access-2', refresh: 'refresh-2', previous: 'refresh-1' }
const OLD = { access: 'access-1', refresh: 'refresh-1' }

/** As a refresh does with what it was given. */
function store({ pending }: { pending: PendingTokens }, answer: AnswerToStore) {
  return pending.hold(answer.hubId, () => pending.store(answer))
}

async function waits(clock: HandClock, times: number) {
  for (let n = 0; n < times; n++) {
    await clock.sleeper(250)
    clock.move(250)
  }
  await clock.sleeper(250)
}

test('tokens that Redis refused until the end are sealed for this user alone, and the next start stores them', async () => {
  const { process, answer, stored, logged, clock, refusing } = await installation(1, 2)
  const ended = process(refusing)
  const storing = [1, 2].map((hubId) => store(ended, answer(hubId)))
  await clock.sleeper(250)
  await ended.pending.close(0)
  expect(await Promise.all(storing)).toEqual(['left', 'left'])
  const [file = '', ...more] = files()
  expect(more).toEqual([])
  expect([statSync(file).mode & 0o777, statSync(join(file, '..')).mode & 0o777]).toEqual([0o600, 0o700])
  expect(readFileSync(file, 'utf8') + logged.text()).not.toMatch(/(?:access|refresh)-[12]/)

  const next = process()
  const storingSealed = storeSealed(next, dataDir)
  expect([next.pending.has(1), next.pending.has(2)]).toEqual([true, true])
  await storingSealed
  expect([await stored(1), await stored(2)]).toEqual([NEW, NEW])
  expect([files(), next.pending.has(1)]).toEqual([[], false])
  expect(logged.lines().map(({ code }) => code)).toEqual([
    'token.not-stored',
    'token.not-stored',
    'token.sealed',
    'token.unsealed',
    'token.unsealed',
  ])
})

test('newer tokens count, and the file goes', async () => {
  const { process, answer, stored, logged } = await installation(1)
  seal(vault, answer(1, { version: '0' }))
  await storeSealed(process(), dataDir)
  expect([files(), await stored(1)]).toEqual([[], { ...OLD, previous: 'refresh-2' }])
  expect(logged.lines().at(-1)).toMatchObject({ code: 'token.unsealed', hubId: 1, is: 'lost' })
})

test('tokens that no key opens stay until one does, and the key is named; the rest is stored', async () => {
  const { process, answer, stored, logged } = await installation(1, 2)
  seal(createVault([k2]), answer(1))
  seal(vault, answer(2))
  await storeSealed(process(), dataDir)
  expect([await stored(1), await stored(2)]).toEqual([OLD, NEW])
  expect(logged.lines().find(({ code }) => code === 'token.unopened')).toMatchObject({
    level: 'error',
    hubId: 1,
    msg: expect.stringContaining('k2'),
  })
  const [file = '', ...others] = files()
  expect(others).toEqual([])
  // Another account's line can't be put in the place of one.
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^1 /, '2 '))
  await storeSealed(process(undefined, createVault([vaultKey, k2])), dataDir)
  expect(await stored(2)).toEqual(NEW)
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^2 /, '1 '))
  await storeSealed(process(undefined, createVault([vaultKey, k2])), dataDir)
  expect([files(), await stored(1)]).toEqual([[], NEW])
})

test('processes of one folder that take over from each other leave the tokens on the disk', async () => {
  const { process, answer, stored } = await installation(1)
  seal(vault, answer(1), answer(2))
  const [one, other] = [process(), process()]
  const tokensOnDisk = () => files().flatMap((file) => readFileSync(file, 'utf8').split('\n').filter(Boolean))
  for (const it of [one, other, one, other, one]) {
    await storeSealed(it, dataDir)
    expect(tokensOnDisk().map((line) => line.split(' ')[0])).toEqual(['2'])
  }
  expect(await stored(1)).toEqual(NEW)
})

test('sealed tokens wait for a job of the process that works on their account', async () => {
  const { process, answer, stored, clock } = await installation(1)
  seal(vault, answer(1))
  const it = process()
  const ended = Promise.withResolvers<void>()
  const work = it.pending.hold(1, () => ended.promise)
  const storing = storeSealed(it, dataDir)
  await clock.sleeper(250)
  expect([await stored(1), files().length]).toEqual([OLD, 1])
  ended.resolve()
  await work
  clock.move(250)
  await storing
  expect([await stored(1), files()]).toEqual([NEW, []])
})

const [k2, k3] = [2, 3].map((n) => ({ id: `k${n}`, key: Buffer.alloc(32, n) })) as [VaultKey, VaultKey]
const both = createVault([k2, vaultKey])
const watcher = { progress: () => {}, waiting: () => {}, signal: new AbortController().signal }
const LACKS_K3 = 'no key with the id k3 is configured: add it to encryption.keys'

test('a rekey seals tokens anew, names those that no key opens, and lets no key go that one needs', async () => {
  const { process, answer, clock } = await installation(1)
  seal(createVault([vaultKey]), answer(1))
  seal(createVault([k3]), answer(2))
  const others = { writers: async () => [], sealAdminTokens: async () => {} }
  const deps = { store: redis.store, keys: process().keys, vault: both, clock, ...others, dataDir }
  await redis.store.hset(deps.keys.canaries, { k1: '', k2: '', k3: '' })
  expect(await rekeyAll(deps, watcher)).toMatchObject({
    is: 'clean',
    removable: ['k1'],
    needed: [],
    unopened: [{ hubId: 2, fields: ['answer'], reason: LACKS_K3 }],
  })
  expect((await redis.store.hkeys(deps.keys.canaries)).sort()).toEqual(['k2', 'k3'])
  await storeSealed(process(undefined, createVault([k2])), dataDir)
  const refresh = await redis.store.hgetBuffer(deps.keys.account(1).tokens, 'refresh')
  expect(both.open(refresh as Buffer, 1, 'refresh').reveal()).toBe('refresh-2')
  expect(files()).toHaveLength(1)
})

test('a key stays while the folder of another machine needs it', async () => {
  const { process, answer, clock } = await installation(1)
  let needs = () => unopenedLines(createVault([k2]), dataDir).map((one) => one.needs ?? 'damaged')
  const writers = async () => [{ daemon: 'far pid 1', keyId: 'k2', needs: needs() }]
  const sealAdminTokens = async () => {}
  const deps = { store: redis.store, keys: process().keys, vault: both, clock, writers, sealAdminTokens }
  await redis.store.hset(deps.keys.canaries, { k1: '', k2: '' })
  seal(createVault([vaultKey]), answer(1))
  const needed = [{ daemon: 'far pid 1', key: 'k1' }]
  expect(await rekeyAll(deps, watcher)).toMatchObject({ is: 'clean', removable: [], needed })
  expect((await redis.store.hkeys(deps.keys.canaries)).sort()).toEqual(['k1', 'k2'])

  needs = () => resealLines(both, dataDir).map((one) => one.needs ?? 'damaged')
  expect(await rekeyAll(deps, watcher)).toMatchObject({ is: 'clean', removable: ['k1'], needed: [] })
  expect(await redis.store.hkeys(deps.keys.canaries)).toEqual(['k2'])
})

test('lines that could not be encrypted again, are damaged or lack their key are named; looking changes nothing', async () => {
  const { answer } = await installation(1)
  const look = () => unopenedLines(both, dataDir)
  expect([look(), describeStuck(look()), files()]).toEqual([[], undefined, []])
  seal(createVault([vaultKey]), answer(1))
  const [file = ''] = files()
  const folder = join(dataDir, 'answers')
  // A folder that is a link is read, but never written to.
  renameSync(folder, join(dataDir, 'elsewhere'))
  symlinkSync(join(dataDir, 'elsewhere'), folder)
  const reason = expect.stringMatching(/^it could not be encrypted again: .*is a link/)
  expect(resealLines(both, dataDir)).toEqual([{ holder: 1, needs: 'k1', reason }])
  unlinkSync(folder)
  renameSync(join(dataDir, 'elsewhere'), folder)
  expect(look()).toEqual([])
  seal(createVault([k3]), answer(2))
  expect(look()).toEqual([{ holder: 2, needs: 'k3', reason: LACKS_K3 }])
  expect(describeStuck(look())).toBe(`new tokens of account 2 wait in dataDir/answers: ${LACKS_K3}`)
  writeFileSync(file, 'a-grant AAAA\n')
  const damaged = { holder: 'a-grant', needs: undefined, reason: 'what is stored is no encrypted value' }
  expect(resealLines(both, dataDir)).toContainEqual(damaged)
  expect(readFileSync(file, 'utf8')).toBe('a-grant AAAA\n')
})

test('a grant that Redis refused is parked by the next start, or as soon as Redis takes it; then its file goes', async () => {
  const { process, clock, logged } = await installation()
  const grantOf = (id: string, refresh = 'refresh-1'): Grant => ({
    hubId: 0,
    id,
    access: new Secret('access-1'),
    refresh: new Secret(refresh),
    grantedAt: clock.now(),
    times: { obtainedAt: clock.now(), expiresAt: clock.now() + 1_000 },
    only: 7,
    version: 1_000_000,
    account: undefined,
  })
  const refuse = (it: ReturnType<typeof process>) => {
    it.tokens.parkGrant = () => Promise.reject(new Error('READONLY'))
    return it
  }
  const ended = refuse(process())
  await expect(ended.pending.park(grantOf('one'), clock.now())).rejects.toThrow('READONLY')
  await ended.pending.close(0)
  const it = process()
  await storeSealed(it, dataDir)
  const deps = { store: redis.store, keys: it.keys, vault }
  expect((await readGrant(deps, 'one'))?.grant).toMatchObject({ only: 7, grantedAt: clock.now() })
  expect(files()).toEqual([])

  await expect(refuse(it).pending.park(grantOf('two', 'refresh-2'), clock.now())).rejects.toThrow('READONLY')
  await waits(clock, 20)
  it.pending.seal()
  // An earlier process left older tokens of it, and the folder is looked through meanwhile.
  seal(vault, grantOf('two'))
  await storeSealed(it, dataDir)
  expect([files().length, it.pending.idleGrant('two')?.refresh.reveal()]).toEqual([1, 'refresh-2'])
  it.tokens.parkGrant = TokenStore.prototype.parkGrant
  await eventually('the grant', async () => {
    clock.move(250)
    return !it.pending.has('two')
  })
  it.pending.seal()
  expect([files(), (await readGrant(deps, 'two'))?.grant.refresh.reveal()]).toEqual([[], 'refresh-2'])
  expect(logged.text()).not.toMatch(/(?:access|refresh)-[12]/)
})

test('tokens that a Redis that is away leaves unanswered for five seconds are sealed, and stored when it is back', async () => {
  const { process, answer, stored, logged, clock, silent } = await installation(1)
  const it = process(silent)
  const storing = store(it, answer(1))
  const codesAfter = (ms: number) => {
    clock.move(ms)
    it.pending.seal()
    return logged.lines().map(({ code }) => code)
  }
  expect([codesAfter(4_999), files()]).toEqual([[], []])
  expect(codesAfter(1)).toEqual(['token.sealed'])
  expect(codesAfter(60_000)).toEqual(['token.sealed'])
  expect(files()).toHaveLength(1)
  silent.back.resolve()
  expect(await storing).toBe('stored')
  expect(codesAfter(0)).toEqual(['token.sealed', 'token.unsealed'])
  expect([files(), await stored(1)]).toEqual([[], NEW])
})

test('where nothing can be written it is told whose tokens are lost, and they are sealed once it can', async () => {
  const { process, answer, logged, clock, silent } = await installation(1)
  rmSync(dataDir, { recursive: true })
  writeFileSync(dataDir, 'a file in the place of the folder')
  await expect(storeSealed(process(), dataDir)).rejects.toThrow()
  const ended = process(silent)
  void store(ended, answer(1))
  clock.move(5_000)
  expect(() => ended.pending.seal()).toThrow()
  await expect(ended.pending.close(0)).rejects.toThrow()
  expect(logged.lines()).toMatchObject([1, 1].map((hubId) => ({ code: 'token.not-sealed', hubIds: [hubId] })))
  rmSync(dataDir)
  await ended.pending.close(0)
  expect(files()).toHaveLength(1)
  expect(logged.text()).not.toMatch(/(?:access|refresh)-[12]/)
})
