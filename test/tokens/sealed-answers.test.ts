import { randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { readGrant } from '../../src/tokens/parked-grants.ts'
import { rekeyAll } from '../../src/tokens/rekey.ts'
import {
  describeStuck,
  resealAnswers,
  sealAnswers,
  storeSealed,
  unopenedAnswers,
} from '../../src/tokens/sealed-answers.ts'
import { type StoreAnswerDeps, storeAnswer, storeGrantsInHand } from '../../src/tokens/store-tokens.ts'
import { type AnswerToStore, type GrantToStore, TokenStore } from '../../src/tokens/token-store.ts'
import { Unstored } from '../../src/tokens/unstored.ts'
import { createVault, type VaultKey } from '../../src/tokens/vault.ts'
import { seedAccount, storedTokens, vault, vaultKey } from '../support/accounts.ts'
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

/** Accounts with tokens of generation 1, and a process that stores answers. */
async function installation(...hubIds: number[]) {
  const keys = redis.freshKeys()
  const clock = new HandClock()
  const grants = 'a-grant'
  for (const hubId of hubIds) {
    await seedAccount(redis.store, keys, { hubId, obtainedAt: clock.now(), operation: grants })
  }
  const logged = logLines()
  const process = (tokens = new TokenStore(redis.store, keys), its = vault) => {
    const unstored = new Unstored((answers) => sealAnswers({ vault: its, log: logged.log }, dataDir, answers))
    return { tokens, vault: its, unstored, clock, log: logged.log, keys }
  }
  const answer = (hubId: number, more: Partial<AnswerToStore> = {}): AnswerToStore => ({
    hubId,
    owner: 'me',
    generation: '1',
    grants,
    access: new Secret('access-2'),
    refresh: new Secret('refresh-2'),
    times: { obtainedAt: clock.now(), expiresAt: clock.now() + 1_800_000 },
    refreshAt: clock.now() + 900_000,
    pollAt: 'unchanged',
    alerts: NO_ALERT_WRITES,
    ...more,
  })
  const stored = (hubId: number) => storedTokens(redis.store, keys, hubId)
  const [refusing, silent] = [new Refusing(redis.store, keys), new Silent(redis.store, keys)]
  return { process, answer, stored, logged, clock, refusing, silent }
}

const files = () => {
  const folder = join(dataDir, 'answers')
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []
}
const NEW = { access: 'access-2', refresh: 'refresh-2', previous: 'refresh-1' }
const OLD = { access: 'access-1', refresh: 'refresh-1' }

test('what Redis refused until the end is sealed for this user alone, and the next start stores it', async () => {
  const { process, answer, stored, logged, clock, refusing } = await installation(1, 2)
  const ended = process(refusing)
  const storing = [1, 2].map((hubId) => keepAndStore(ended, answer(hubId)))
  await clock.sleeper(250)
  await ended.unstored.close(clock, 0)
  expect(await Promise.all(storing)).toEqual(['left', 'left'])
  const [file = '', ...more] = files()
  expect(more).toEqual([])
  expect([statSync(file).mode & 0o777, statSync(join(file, '..')).mode & 0o777]).toEqual([0o600, 0o700])
  expect(readFileSync(file, 'utf8') + logged.text()).not.toMatch(/(?:access|refresh)-[12]/)

  const next = process()
  const storingSealed = storeSealed(next, dataDir)
  expect([next.unstored.has(1), next.unstored.has(2)]).toEqual([true, true])
  await storingSealed
  expect([await stored(1), await stored(2)]).toEqual([NEW, NEW])
  expect(files()).toEqual([])
  expect(next.unstored.has(1)).toBe(false)
  expect(logged.lines().map(({ code }) => code)).toEqual([
    'token.not-stored',
    'token.not-stored',
    'token.sealed',
    'token.unsealed',
    'token.unsealed',
  ])
})

test('an answer that comes after the end is sealed as it comes, once', async () => {
  const { process, answer, stored, clock, refusing } = await installation(1)
  const ended = process(refusing)
  const kept = answer(1)
  const asked = Promise.withResolvers<void>()
  const late = ended.unstored.hold(1, async () => {
    await asked.promise
    ended.unstored.keep(kept, clock)
    return storeAnswer(ended, kept)
  })
  await ended.unstored.close(clock, 0)
  expect(files()).toEqual([])
  asked.resolve()
  expect(await late).toBe('left')
  await ended.unstored.close(clock, 0)
  expect(files()).toHaveLength(1)
  await storeSealed(process(), dataDir)
  expect(await stored(1)).toEqual(NEW)
})

test('a Redis that takes it at the end gets it: nothing is sealed', async () => {
  const { process, answer, stored, clock } = await installation(1)
  const it = process()
  const kept = answer(1)
  const storing = it.unstored.hold(1, () => {
    it.unstored.keep(kept, clock)
    it.unstored.end()
    return storeAnswer(it, kept)
  })
  expect(await storing).toBe('stored')
  await it.unstored.close(clock, 0)
  expect([files(), await stored(1)]).toEqual([[], NEW])
})

test('tokens that somebody wrote since count, and the file goes', async () => {
  const { process, answer, stored, logged } = await installation(1)
  sealAnswers(process(), dataDir, [answer(1, { generation: '0' })])
  await storeSealed(process(), dataDir)
  expect([files(), await stored(1)]).toEqual([[], OLD])
  expect(logged.lines().at(-1)).toMatchObject({ code: 'token.unsealed', hubId: 1, is: 'lost' })
})

test('what no key opens stays until one does, and the key is named; the rest is stored', async () => {
  const { process, answer, stored, logged } = await installation(1, 2)
  const k2 = { id: 'k2', key: randomBytes(32) }
  const both = createVault([vaultKey, k2])
  sealAnswers({ ...process(), vault: createVault([k2]) }, dataDir, [answer(1)])
  sealAnswers(process(), dataDir, [answer(2)])
  await storeSealed(process(), dataDir)
  expect([await stored(1), await stored(2)]).toEqual([OLD, NEW])
  expect(logged.lines().find(({ code }) => code === 'token.unopened')).toMatchObject({
    level: 'error',
    hubId: 1,
    msg: expect.stringContaining('k2'),
  })
  expect(files()).toHaveLength(1)
  // As the line was: another account's can't be put in its place.
  const [file = ''] = files()
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^1 /, '2 '))
  await storeSealed(process(undefined, both), dataDir)
  expect(await stored(2)).toEqual(NEW)
  writeFileSync(files()[0] ?? '', readFileSync(files()[0] ?? '', 'utf8').replace(/^2 /, '1 '))
  await storeSealed(process(undefined, both), dataDir)
  expect([files(), await stored(1)]).toEqual([[], NEW])
})

test('a start that ends before Redis takes it leaves it where it is', async () => {
  const { process, answer, stored, clock, refusing } = await installation(1)
  sealAnswers(process(), dataDir, [answer(1)])
  const [file] = files()
  const stopped = process(refusing)
  const storing = storeSealed(stopped, dataDir)
  await clock.sleeper(250)
  await stopped.unstored.close(clock, 0)
  await storing
  expect(files()).toEqual([file])
  await storeSealed(process(), dataDir)
  expect([files(), await stored(1)]).toEqual([[], NEW])
})

const [k2, k3] = [2, 3].map((n) => ({ id: `k${n}`, key: Buffer.alloc(32, n) })) as [VaultKey, VaultKey]
const both = createVault([k2, vaultKey])
const watcher = { progress: () => {}, waiting: () => {}, signal: new AbortController().signal }
const LACKS_K3 = 'no key with the id k3 is configured: add it to encryption.keys'

test('a rekey seals answers anew, names those that no key opens, and lets no key go that one needs', async () => {
  const { process, answer, clock, logged } = await installation(1)
  sealAnswers({ log: logged.log, vault: createVault([vaultKey]) }, dataDir, [answer(1)])
  sealAnswers({ log: logged.log, vault: createVault([k3]) }, dataDir, [answer(2)])
  const deps = { store: redis.store, keys: process().keys, vault: both, clock, writers: async () => [], dataDir }
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
  const { process, answer, clock, logged } = await installation(1)
  let needs = () => unopenedAnswers(createVault([k2]), dataDir).map((one) => one.needs ?? 'damaged')
  const writers = async () => [{ daemon: 'far pid 1', keyId: 'k2', needs: needs() }]
  const deps = { store: redis.store, keys: process().keys, vault: both, clock, writers }
  await redis.store.hset(deps.keys.canaries, { k1: '', k2: '' })
  sealAnswers({ log: logged.log, vault: createVault([vaultKey]) }, dataDir, [answer(1)])
  const needed = [{ daemon: 'far pid 1', key: 'k1' }]
  expect(await rekeyAll(deps, watcher)).toMatchObject({ is: 'clean', removable: [], needed })
  expect((await redis.store.hkeys(deps.keys.canaries)).sort()).toEqual(['k1', 'k2'])

  needs = () => resealAnswers(both, dataDir).map((one) => one.needs ?? 'damaged')
  expect(await rekeyAll(deps, watcher)).toMatchObject({ is: 'clean', removable: ['k1'], needed: [] })
  expect(await redis.store.hkeys(deps.keys.canaries)).toEqual(['k2'])
})

test('what could not be encrypted again, is damaged or lacks its key is said; looking changes nothing', async () => {
  const { answer, logged } = await installation(1)
  const look = () => unopenedAnswers(both, dataDir)
  expect([look(), describeStuck(look()), files()]).toEqual([[], undefined, []])
  sealAnswers({ log: logged.log, vault: createVault([vaultKey]) }, dataDir, [answer(1)])
  const [file = ''] = files()
  // What a process that was killed while it wrote leaves behind.
  writeFileSync(`${file}.half`, '')
  const reason = expect.stringMatching(/^it could not be encrypted again: .*EEXIST/)
  expect(resealAnswers(both, dataDir)).toEqual([{ holder: 1, needs: 'k1', reason }])
  expect(look()).toEqual([])
  sealAnswers({ log: logged.log, vault: createVault([k3]) }, dataDir, [answer(2)])
  expect(look()).toEqual([{ holder: 2, needs: 'k3', reason: LACKS_K3 }])
  expect(describeStuck(look())).toBe(`new tokens of account 2 wait in dataDir/answers: ${LACKS_K3}`)
  writeFileSync(file, 'a-grant AAAA\n')
  const damaged = { holder: 'a-grant', needs: undefined, reason: 'what is stored is no encrypted value' }
  expect(resealAnswers(both, dataDir)).toContainEqual(damaged)
  expect(readFileSync(file, 'utf8')).toBe('a-grant AAAA\n')
})

test('a grant is parked by the next start; once this process has stored it, its file goes', async () => {
  const { process, clock, logged } = await installation()
  const grantOf = (id: string): GrantToStore => ({
    hubId: 0,
    id,
    access: new Secret('access-1'),
    refresh: new Secret('refresh-1'),
    grantedAt: clock.now(),
    times: { obtainedAt: clock.now(), expiresAt: clock.now() + 1_000 },
    only: 7,
    account: undefined,
  })
  const ended = process()
  ended.unstored.keep(grantOf('one'), clock)
  await ended.unstored.close(clock, 0)
  const it = process()
  await storeSealed(it, dataDir)
  const deps = { store: redis.store, keys: it.keys, vault }
  expect(await readGrant(deps, 'one')).toMatchObject({ only: 7, grantedAt: clock.now() })
  expect(files()).toEqual([])

  it.unstored.keep(grantOf('two'), clock)
  clock.move(5_000)
  it.unstored.sealOverdue(it)
  // The same folder is looked through meanwhile.
  await storeSealed(it, dataDir)
  expect([files().length, await readGrant(deps, 'two')]).toEqual([1, undefined])
  await storeGrantsInHand(it)
  expect((await readGrant(deps, 'two'))?.refreshToken.reveal()).toBe('refresh-1')
  expect(files()).toEqual([])
  expect(logged.text()).not.toMatch(/(?:access|refresh)-1/)
})

async function waits(clock: HandClock, times: number) {
  for (let n = 0; n < times; n++) {
    await clock.sleeper(250)
    clock.move(250)
  }
  await clock.sleeper(250)
}

/** As a refresh does with what it was given. */
function keepAndStore(deps: StoreAnswerDeps, answer: AnswerToStore) {
  return deps.unstored.hold(answer.hubId, () => {
    deps.unstored.keep(answer, deps.clock)
    return storeAnswer(deps, answer)
  })
}

test('what Redis refuses for five seconds is sealed once, and stored all the same when it takes it', async () => {
  const { process, answer, stored, logged, clock, refusing } = await installation(1)
  const it = process(refusing)
  const storing = keepAndStore(it, answer(1))
  await waits(clock, 18)
  it.unstored.sealOverdue(it)
  expect(files()).toEqual([])
  await waits(clock, 400)
  for (let looks = 0; looks < 2; looks++) it.unstored.sealOverdue(it)
  expect(files()).toHaveLength(1)
  expect(logged.lines().filter(({ code }) => code === 'token.sealed')).toHaveLength(1)
  refusing.storeTokens = TokenStore.prototype.storeTokens as never
  clock.move(250)
  expect(await storing).toBe('stored')
  await storeSealed(process(), dataDir)
  expect([files(), await stored(1)]).toEqual([[], NEW])
})

test('what a Redis that is away leaves unanswered for five seconds is sealed, told once, and stored when it is back', async () => {
  const { process, answer, stored, logged, clock, silent } = await installation(1)
  const it = process(silent)
  const storing = keepAndStore(it, answer(1))
  const codesAfter = async (ms: number) => {
    clock.move(ms)
    it.unstored.sealOverdue(it)
    await setImmediate()
    return logged.lines().map(({ code }) => code)
  }
  expect([await codesAfter(4_999), files()]).toEqual([[], []])
  expect(await codesAfter(1)).toEqual(['token.not-stored', 'token.sealed'])
  expect(files()).toHaveLength(1)
  expect(await codesAfter(60_000)).toHaveLength(2)
  silent.back.resolve()
  expect(await storing).toBe('stored')
  expect(await codesAfter(120_000)).toHaveLength(2)
  await storeSealed(process(), dataDir)
  expect([files(), await stored(1)]).toEqual([[], NEW])
})

test('a data folder that takes nothing is asked once a minute where Redis knows no such account', async () => {
  const { process, answer, logged, clock } = await installation()
  writeFileSync(join(dataDir, 'answers'), 'in the way')
  const it = process()
  const kept = answer(1)
  it.unstored.keep(kept, clock)
  const storing = storeAnswer(it, kept)
  await waits(clock, 239)
  expect(logged.lines().map(({ code }) => code)).toEqual(['token.not-sealed'])
  rmSync(join(dataDir, 'answers'))
  clock.move(250)
  expect(await storing).toBe('left')
  expect(files()).toHaveLength(1)
})

test('half a file is removed once no process can be at it any more', async () => {
  const { process, clock } = await installation()
  await storeSealed(process(), dataDir)
  const half = join(dataDir, 'answers', 'one.sealed.half')
  const found = async (ageMs: number) => {
    writeFileSync(half, 'half of it')
    utimesSync(half, (clock.now() - ageMs) / 1_000, (clock.now() - ageMs) / 1_000)
    await storeSealed(process(), dataDir)
    return files()
  }
  expect(await found(60_000)).toEqual([half])
  expect(await found(3_700_000)).toEqual([])
})

test('where nothing can be written it is told whose tokens are lost', async () => {
  const { process, answer, logged } = await installation(1)
  writeFileSync(join(dataDir, 'answers'), 'in the way')
  expect(() => sealAnswers(process(), dataDir, [answer(1)])).toThrow()
  expect(logged.lines()).toMatchObject([{ level: 'error', code: 'token.not-sealed', hubIds: [1] }])
  expect(logged.text()).not.toMatch(/(?:access|refresh)-[12]/)
})

test('of accounts that Redis knows some of, the others stay, in one place, until it knows them', async () => {
  const { process, answer, stored, logged } = await installation(1)
  sealAnswers(process(), dataDir, [answer(1), answer(2)])
  sealAnswers(process(), dataDir, [answer(2)])
  await Promise.all([storeSealed(process(), dataDir), storeSealed(process(), dataDir)])
  expect(await stored(1)).toEqual(NEW)
  const lines = files().flatMap((file) => readFileSync(file, 'utf8').split('\n').filter(Boolean))
  expect(new Set(lines.map((line) => line.split(' ')[0]))).toEqual(new Set(['2']))
  for (let start = 0; start < 3; start++) {
    await Promise.all([storeSealed(process(), dataDir), storeSealed(process(), dataDir)])
  }
  const later = files().flatMap((file) => readFileSync(file, 'utf8').split('\n').filter(Boolean))
  expect(later.length).toBeLessThanOrEqual(lines.length)
  expect(logged.text()).toContain('Redis knows no such account')
})

test('a folder that can not be used is told at the start, and an answer that could not be put there stays in hand', async () => {
  const { process, answer, clock } = await installation(1)
  rmSync(dataDir, { recursive: true })
  writeFileSync(dataDir, 'a file in the place of the folder')
  await expect(storeSealed(process(), dataDir)).rejects.toThrow()
  const ended = process()
  void ended.unstored.hold(1, () => {
    ended.unstored.keep(answer(1), clock)
    return new Promise(() => {}) // Redis is away.
  })
  await expect(ended.unstored.close(clock, 0)).rejects.toThrow()
  rmSync(dataDir)
  await ended.unstored.close(clock, 0)
  expect(files()).toHaveLength(1)
})
