import { expect, test } from 'vitest'
import { freshBytes } from '../../src/runtime/fresh-bytes.ts'

test('bytes are handed out once each, and stay what they were', () => {
  const taken = Array.from({ length: 5_000 }, () => freshBytes(12))
  const before = taken.map((bytes) => bytes.toString('hex'))
  for (let n = 0; n < 5_000; n++) freshBytes(12)
  expect(taken.map((bytes) => bytes.toString('hex'))).toEqual(before)
  expect(new Set(before).size).toBe(5_000)
  expect(taken.every((bytes) => bytes.length === 12)).toBe(true)

  const places = new Set(taken.map((bytes) => `${memoryOf(bytes)}:${bytes.byteOffset}`))
  expect(places.size).toBe(5_000)
})

test('more bytes than are kept ready are drawn for themselves', () => {
  const many = freshBytes(100_000)
  expect(many.length).toBe(100_000)
  expect(many.subarray(-32).equals(Buffer.alloc(32))).toBe(false)
  expect(freshBytes(12).equals(freshBytes(12))).toBe(false)
})

const memory = new Map<ArrayBufferLike, number>()
function memoryOf({ buffer }: Buffer): number {
  const known = memory.get(buffer) ?? memory.size
  memory.set(buffer, known)
  return known
}
