import { Buffer } from 'node:buffer'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'

/** One thing of an account that is not what was written there. */
export interface Spoil {
  name: string
  do: () => Promise<unknown>
}

const GARBAGE = Buffer.from([0xff, 0xfe, 0x00, 0x22, 0x2c, 0x0a, 0xc3])
/** Undefined: the value has no such thing in it. */
const TEXTS: [what: string, of: (before: Buffer) => Buffer | undefined][] = [
  ['garbage bytes', () => GARBAGE],
  ['nothing', () => Buffer.alloc(0)],
  ['half of it', (before) => before.subarray(0, Math.ceil(before.length / 2))],
  ['JSON of another shape', () => Buffer.from('{"a":[1,null]}')],
  ['an impossible number', (before) => numberIn(before, '9999999999999999')],
  ['right shape, impossible number', (before) => inside(before, (leaf) => (typeof leaf === 'number' ? 1e300 : leaf))],
  ['right shape, other type inside', (before) => inside(before, otherType)],
]

function numberIn(before: Buffer, text: string): Buffer | undefined {
  return /^\d+$/.test(before.toString()) ? Buffer.from(text) : undefined
}

function otherType(leaf: unknown): unknown {
  if (typeof leaf === 'number') return 'x'
  return typeof leaf === 'string' ? 5 : leaf
}

/** JSON with other values in the same places. */
function inside(before: Buffer, change: (leaf: unknown) => unknown): Buffer | undefined {
  try {
    const plain = JSON.stringify(JSON.parse(before.toString()))
    const value: unknown = JSON.parse(before.toString(), (_, leaf) => (typeof leaf === 'object' ? leaf : change(leaf)))
    const text = JSON.stringify(value)
    return typeof value === 'object' && text !== plain ? Buffer.from(text) : undefined
  } catch {
    return undefined
  }
}

/** Every key of the account with each other type, and each text in it with each other text; what `keys.ts` names is all of them. */
export async function spoilsOf(store: Store, keys: Keys, hubId: number): Promise<Spoil[]> {
  const spoils = Object.entries(keys.account(hubId)).map(async ([name, key]): Promise<Spoil[]> => {
    const type = await store.type(key)
    if (type === 'none')
      throw new Error(`the account of this test has no ${name}: give it one, so that it can be spoiled`)
    const others = Object.entries(otherTypes(store, key)).filter(([other]) => other !== type)
    const texts = await textsIn(store, key, type)
    return [
      ...others.map(([other, write]) => ({
        name: `${name}: a ${other}`,
        do: async () => {
          await store.del(key)
          await write()
        },
      })),
      ...texts.flatMap(({ at, before, write }) =>
        TEXTS.flatMap(([what, of]) => {
          const text = of(before)
          return text === undefined ? [] : [{ name: `${name}${at}: ${what}`, do: () => write(text) }]
        }),
      ),
    ]
  })
  return (await Promise.all(spoils)).flat()
}

/** What is kept of the account's alerts in keys that others share: each text in a field with each other text. */
export async function alertSpoilsOf(store: Store, keys: Keys, hubId: number): Promise<Spoil[]> {
  const { news } = keys
  const entries = Object.entries(await store.hgetall(news))
  const alerts = entries.flatMap(([alert, entry]) => (entry.includes(`"hubId":${hubId},`) ? [alert] : []))
  const receivers = await store.zrange(keys.delivery.receivers, '0', '-1')
  const kept = [
    ['news', news] as const,
    ...receivers.map((name) => [`known ${name}`, keys.delivery.known(name)] as const),
  ]
  const spoils = kept.flatMap(([name, key]) =>
    alerts.map(async (alert) => {
      const before = await store.hgetBuffer(key, alert)
      if (before === null)
        throw new Error(`the account of this test has no ${name}: give it one, so that it can be spoiled`)
      return TEXTS.flatMap(([what, of]) => {
        const text = of(before)
        return text === undefined ? [] : [{ name: `${name}: ${what}`, do: () => store.hset(key, alert, text) }]
      })
    }),
  )
  return (await Promise.all(spoils)).flat()
}

function otherTypes(store: Store, key: string): Record<string, () => Promise<unknown>> {
  return {
    string: () => store.set(key, 'a'),
    hash: () => store.hset(key, 'a', 'b'),
    list: () => store.rpush(key, 'a'),
    set: () => store.sadd(key, 'a'),
    zset: () => store.zadd(key, 1, 'a'),
    stream: () => store.xadd(key, '*', 'a', 'b'),
  }
}

async function textsIn(store: Store, key: string, type: string) {
  if (type === 'string') {
    const before = (await store.getBuffer(key)) ?? Buffer.alloc(0)
    return [{ at: '', before, write: (text: Buffer) => store.set(key, text) as Promise<unknown> }]
  }
  if (type === 'list') {
    const before = (await store.lindexBuffer(key, 0)) ?? Buffer.alloc(0)
    return [{ at: ' 0', before, write: (text: Buffer) => store.lset(key, 0, text) as Promise<unknown> }]
  }
  const fields = Object.entries(await store.hgetallBuffer(key))
  return fields.map(([field, before]) => ({
    at: ` ${field}`,
    before,
    write: (text: Buffer) => store.hset(key, field, text) as Promise<unknown>,
  }))
}

/** All that is stored, to be put back after each spoil. */
export async function keepAll(store: Store, keys: Keys): Promise<() => Promise<void>> {
  const kept = new Map<string, Buffer>()
  for (const key of await keysOf(store, keys)) kept.set(key, (await store.dumpBuffer(key)) as Buffer)
  return async () => {
    const now = await keysOf(store, keys)
    if (now.length > 0) await store.del(...now)
    await Promise.all([...kept].map(([key, value]) => store.restore(key, 0, value)))
  }
}

async function keysOf(store: Store, keys: Keys): Promise<string[]> {
  const found: string[] = []
  let cursor = '0'
  do {
    const [next, some] = await store.scan(cursor, 'MATCH', `{${keys.prefix}}:*`, 'COUNT', 1_000)
    found.push(...some)
    cursor = next
  } while (cursor !== '0')
  return found
}
