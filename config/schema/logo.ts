import { readFileSync, statSync } from 'node:fs'

/** A picture by its first bytes, whatever its file is called. */
export interface Logo {
  type: 'image/png' | 'image/jpeg' | 'image/webp' | 'image/svg+xml'
  bytes: Buffer
}

/** Each customer's browser loads it, and any client may ask for it. */
const MOST_BYTES = 256 * 1024

/** Throws what reading throws; no more than a logo may have is read of a file, however large. */
export function readLogoFile(file: string): Buffer {
  return statSync(file).size > MOST_BYTES ? Buffer.alloc(MOST_BYTES + 1) : readFileSync(file)
}

/** The logo, or why these bytes are none. */
export function logoOf(bytes: Buffer): Logo | string {
  if (bytes.length > MOST_BYTES) return `the file has more than ${MOST_BYTES / 1024} kB`
  const type = PICTURES.find(([, is]) => is(bytes))?.[0]
  if (type !== undefined) return { type, bytes }
  const text = bytes.toString('utf8')
  if (!/^\uFEFF?(\s|<\?[\s\S]*?\?>|<!--[\s\S]*?-->|<!DOCTYPE[^>[]*(\[[\s\S]*?\]\s*)?>)*<svg[\s>]/i.test(text))
    return 'is no picture that browsers show: PNG, JPEG, WebP or SVG'
  return faultOfSvg(text) ?? { type: 'image/svg+xml', bytes }
}

const PICTURES: readonly (readonly [Logo['type'], (bytes: Buffer) => boolean])[] = [
  ['image/png', (bytes) => bytes.subarray(0, 8).toString('latin1') === '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', (bytes) => bytes.subarray(0, 3).toString('latin1') === '\xff\xd8\xff'],
  ['image/webp', (bytes) => /^RIFF[\s\S]{4}WEBP$/.test(bytes.subarray(0, 12).toString('latin1'))],
]

/**
 * An SVG may hold scripts and load from elsewhere. It is served so that no browser runs or loads them; a file that has some is
 * refused all the same: it is not the plain picture that its owner takes it for.
 */
const NOT_IN_SVG: readonly (readonly [RegExp, string])[] = [
  [/<([\w-]+:)?script\b|\bon[a-z]+\s*=|javascript:/i, 'a script'],
  [/<([\w-]+:)?(foreignObject|iframe|embed|object)\b/i, 'a page in it (foreignObject)'],
  [/<!ENTITY\b/i, 'entities of its own'],
  [/@import\b/i, 'a style sheet of elsewhere'],
]

/** Addresses in the file: a part of itself, or a picture that it holds. */
const ADDRESSES = /\b(?:href|src)\s*=\s*["']\s*([^"']*)|\burl\(\s*["']?\s*([^"')]*)/gi

function faultOfSvg(text: string): string | undefined {
  if (!/\bxmlns\s*=\s*["']http:\/\/www\.w3\.org\/2000\/svg["']/.test(text))
    return 'is an SVG without xmlns="http://www.w3.org/2000/svg": browsers do not show it'
  const found = NOT_IN_SVG.find(([pattern]) => pattern.test(text))?.[1]
  const isElsewhere = [...text.matchAll(ADDRESSES)].some(
    ([, link, url]) => !/^(#|data:image\/)/i.test(link ?? url ?? ''),
  )
  const fault = found ?? (isElsewhere ? 'a picture or a link of elsewhere' : undefined)
  return fault && `is an SVG with ${fault}: save it as a plain SVG, or as PNG`
}
