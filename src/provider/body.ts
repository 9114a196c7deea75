import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib'

/** A body that grows beyond the limit while it is unpacked. */
export class TooLargeError extends Error {}

type Unpack = (body: Buffer, options: { maxOutputLength: number }) => Buffer

const UNPACK: ReadonlyMap<string, readonly Unpack[]> = new Map([
  ['gzip', [gunzipSync]],
  ['x-gzip', [gunzipSync]],
  // Some servers send it without the zlib header.
  ['deflate', [inflateSync, inflateRawSync]],
  ['br', [brotliDecompressSync]],
])

const OPEN_BRACE = 0x7b
/** Most encodings one inside the other. */
const MOST_LAYERS = 3

/**
 * A body as UTF-8 text, whatever a proxy made of it: compressed although `identity` was asked for, with or without the header that
 * says so, in UTF-16 or with a byte order mark. What can't be unpacked stays as it is. @throws TooLargeError
 */
export function plainBody(body: Buffer, encoding: string | string[] | undefined, maxBytes: number): Buffer {
  // Nearly all are this.
  if (encoding === undefined && body[0] === OPEN_BRACE && body[1] !== 0) return body
  return asUtf8(unpackByBytes(unpackByHeader(body, encoding, maxBytes), maxBytes))
}

function unpackByHeader(body: Buffer, encoding: string | string[] | undefined, maxBytes: number): Buffer {
  const names = [encoding ?? []].flat().join(',').split(',').reverse().slice(0, MOST_LAYERS)
  let plain = body
  for (const name of names) {
    const unpacked = firstOf(UNPACK.get(name.trim().toLowerCase()) ?? [], plain, maxBytes)
    if (unpacked === undefined) break
    plain = unpacked
  }
  return plain
}

/** By the first bytes; brotli and raw deflate have none of their own, and are tried where the body is no text. */
function unpackByBytes(body: Buffer, maxBytes: number): Buffer {
  let plain = body
  for (let layer = 0; layer < MOST_LAYERS && plain.length > 2 && !isText(plain); layer++) {
    const unpacked = firstOf(unpackersFor(plain), plain, maxBytes)
    if (unpacked === undefined || !(isText(unpacked) || isPacked(unpacked))) break
    plain = unpacked
  }
  return plain
}

function unpackersFor(body: Buffer): readonly Unpack[] {
  if (isGzip(body)) return [gunzipSync]
  return isZlib(body) ? [inflateSync, brotliDecompressSync] : [brotliDecompressSync, inflateRawSync]
}

function isPacked(body: Buffer): boolean {
  return isGzip(body) || isZlib(body)
}

function isGzip(body: Buffer): boolean {
  return body[0] === 0x1f && body[1] === 0x8b
}

function isZlib(body: Buffer): boolean {
  return body[0] === 0x78 && body.length > 1 && body.readUInt16BE(0) % 31 === 0
}

/** The start of JSON or of a page, in UTF-8 or UTF-16. */
function isText(body: Buffer): boolean {
  return /^(\ufeff|\xef\xbb\xbf|\xff\xfe|\xfe\xff)?[\0\s]*[[{<"]/.test(body.toString('latin1', 0, 100))
}

function firstOf(unpackers: readonly Unpack[], body: Buffer, maxBytes: number): Buffer | undefined {
  for (const unpack of unpackers) {
    try {
      return unpack(body, { maxOutputLength: maxBytes })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ERR_BUFFER_TOO_LARGE') throw new TooLargeError(`the answer is larger than ${maxBytes} bytes`)
    }
  }
  return undefined
}

const TEXT_START = /^[\s[{<"]/

function asUtf8(body: Buffer): Buffer {
  const start = body.toString('latin1', 0, 3)
  if (start === '\xef\xbb\xbf') return body.subarray(3)
  if (start.startsWith('\xff\xfe')) return Buffer.from(body.toString('utf16le', 2))
  if (start.startsWith('\xfe\xff')) return fromBigEndian(body.subarray(2))
  // Without a mark: ASCII has a zero byte beside each character.
  if (start[1] === '\0' && TEXT_START.test(start)) return Buffer.from(body.toString('utf16le'))
  return start[0] === '\0' && TEXT_START.test(start.slice(1)) ? fromBigEndian(body) : body
}

function fromBigEndian(body: Buffer): Buffer {
  const whole = Buffer.from(body.subarray(0, body.length & ~1))
  return Buffer.from(whole.swap16().toString('utf16le'))
}
