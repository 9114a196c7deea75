import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { type PackedReader, type PackedWriter, UnreadableBytes } from './packed.ts'

/** No account has as much text: a few bytes must not become gigabytes. */
const MOST_BYTES = 256 * 1024 * 1024

/** The tables for large texts take longer to make than it takes to compress a small one. Never a smaller window than before. */
const SMALL = { windowBits: 12, memLevel: 5 }

/**
 * Texts one after the other, compressed where that is shorter: the last that is written. Between two stands a zero, which
 * compresses better than their lengths; `dictionary` is what they are likely to contain.
 */
export function writeTexts(out: PackedWriter, texts: readonly string[], dictionary: Buffer): void {
  const plain = Buffer.from(texts.map(escaped).join('\0'), 'utf8')
  const packed = deflateRawSync(plain, { ...SMALL, dictionary })
  const isShorter = packed.length < plain.length
  out.byte(isShorter ? PACKED : PLAIN)
  out.append(isShorter ? packed : plain)
}

/** @throws UnreadableBytes */
export function readTexts(input: PackedReader, count: number, dictionary: Buffer): string[] {
  const how = input.byte()
  if (how > PACKED) throw new UnreadableBytes(`it has texts of an unknown kind, ${how}`)
  const plain = how === PACKED ? inflate(input.rest(), dictionary) : input.rest()
  const texts = count === 0 && plain.length === 0 ? [] : readUtf8(plain).split('\0').map(unescaped)
  if (texts.length !== count) throw new UnreadableBytes(`it has ${texts.length} texts where ${count} belong`)
  return texts
}

const PLAIN = 0
const PACKED = 1

function inflate(packed: Buffer, dictionary: Buffer): Buffer {
  try {
    return inflateRawSync(packed, { windowBits: SMALL.windowBits, dictionary, maxOutputLength: MOST_BYTES })
  } catch {
    throw new UnreadableBytes('its texts can not be decompressed')
  }
}

function readUtf8(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes)
  } catch {
    throw new UnreadableBytes('its texts are not valid UTF-8')
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Names that really contain a zero are rare, but a stranger can send one. */
function escaped(text: string): string {
  return text.includes('\0') || text.includes('\u0001')
    ? text.replaceAll('\u0001', '\u0001a').replaceAll('\0', '\u0001b')
    : text
}

function unescaped(text: string): string {
  return text.includes('\u0001') ? text.replaceAll('\u0001b', '\0').replaceAll('\u0001a', '\u0001') : text
}
