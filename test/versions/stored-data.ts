import { readFileSync } from 'node:fs'
import type { Store } from '../../src/redis/connect.ts'

/** A key with all that it holds, as text of one byte a character; any Redis takes it. */
export type StoredKey = { key: string; ttlMs?: number } & (
  | { type: 'string'; value: string }
  | { type: 'list' | 'set'; value: string[] }
  | { type: 'hash' | 'zset'; value: [string, string][] }
  | { type: 'stream'; value: [string, string[]][]; lastId: string }
)

/** Bytes that no text could hold are among them. */
const asText = (bytes: Buffer) => bytes.toString('latin1')
const asBytes = (text: string) => Buffer.from(text, 'latin1')
const inPairs = <T>(items: readonly T[]) =>
  Array.from({ length: items.length / 2 }, (_, n) => [items[2 * n], items[2 * n + 1]] as [T, T])

/** What BullMQ notes for whoever watches a queue: long, and read by none of ours. */
const OF_LIBRARY = /^\{plimsoll\}:.*:events$/

/** All that a Redis holds, in the order of its keys; without what expires meanwhile. */
export async function readAll(store: Store): Promise<StoredKey[]> {
  const keys = (await store.keys('*')).filter((key) => !OF_LIBRARY.test(key)).sort()
  const read = await Promise.all(keys.map((key) => readKey(store, key)))
  return read.filter((one) => one !== undefined)
}

async function readKey(store: Store, key: string): Promise<StoredKey | undefined> {
  const [ttlMs, type] = await Promise.all([store.pttl(key), store.type(key)])
  const head = { key, ...(ttlMs < 0 ? {} : { ttlMs }) }
  switch (type) {
    case 'string':
      return { ...head, type, value: asText((await store.getBuffer(key)) ?? Buffer.of()) }
    case 'list':
      return { ...head, type, value: (await store.lrangeBuffer(key, 0, -1)).map(asText) }
    case 'set':
      return { ...head, type, value: (await store.smembersBuffer(key)).map(asText).sort() }
    case 'hash': {
      const fields = Object.entries(await store.hgetallBuffer(key))
      return {
        ...head,
        type,
        value: fields.map(([field, value]): [string, string] => [asText(Buffer.from(field)), asText(value)]),
      }
    }
    case 'zset': {
      const members = (await store.zrangeBuffer(key, 0, '-1', 'WITHSCORES')).map(asText)
      return { ...head, type, value: inPairs(members) }
    }
    case 'stream': {
      const entries = (await store.xrangeBuffer(key, '-', '+')) as [Buffer, Buffer[]][]
      const about = inPairs((await store.xinfo('STREAM', key)) as unknown[])
      const lastId = String(about.find(([name]) => name === 'last-generated-id')?.[1])
      return { ...head, type, value: entries.map(([id, fields]) => [asText(id), fields.map(asText)]), lastId }
    }
    case 'none':
      return undefined
    default:
      throw new Error(`${key} is a ${type}`)
  }
}

/** Into an empty Redis. */
export async function writeAll(store: Store, stored: readonly StoredKey[]): Promise<void> {
  for (const one of stored) {
    for (const [command = '', ...args] of commandsFor(one)) await store.call(command, one.key, ...args.map(asBytes))
    if (one.ttlMs !== undefined) await store.pexpire(one.key, one.ttlMs)
  }
}

function commandsFor(one: StoredKey): string[][] {
  switch (one.type) {
    case 'string':
      return [['SET', one.value]]
    case 'list':
      return [['RPUSH', ...one.value]]
    case 'set':
      return [['SADD', ...one.value]]
    case 'hash':
      return [['HSET', ...one.value.flat()]]
    case 'zset':
      return [['ZADD', ...one.value.flatMap(([member, score]) => [score, member])]]
    case 'stream': {
      const added = one.value.map(([id, fields]) => ['XADD', id, ...fields])
      // A stream that was emptied still has its last id: transitions are named by it.
      const first =
        added.length > 0
          ? added
          : [
              ['XADD', one.lastId, 'gone', ''],
              ['XTRIM', 'MAXLEN', '0'],
            ]
      return [...first, ['XSETID', one.lastId]]
    }
  }
}

/** The data set of a version: what its daemon left, and what the far side had from it by then. */
export interface VersionData {
  madeAt: number
  /** Transitions that each receiver took. */
  taken: { up: string[]; down: string[] }
  usage: [hubId: number, usage: number][]
  keys: StoredKey[]
}

export function readVersion(name: string): VersionData {
  const lines = readFileSync(new URL(`data/${name}.jsonl`, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
  const [head, ...keys] = lines.map((line) => JSON.parse(line) as unknown)
  return { ...(head as Omit<VersionData, 'keys'>), keys: keys as StoredKey[] }
}

/** What the API of that version answered to who asked for the snapshots of each account until the data was left. */
export function readSnapshots(name: string): [hubId: number, answer: string][] {
  const lines = readFileSync(new URL(`data/${name}.snapshots.jsonl`, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
  return lines.map((line) => JSON.parse(line) as [number, string])
}
