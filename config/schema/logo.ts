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

/** The logo, or why these bytes are no image. An SVG is harmless: its policy forbids browsers to run or load anything. */
export function logoOf(bytes: Buffer): Logo | string {
  if (bytes.length > MOST_BYTES) return `the file has more than ${MOST_BYTES / 1024} kB`
  const type = PICTURES.find(([, beginning]) => beginning.test(bytes.toString('latin1')))?.[0]
  return type === undefined ? 'is no picture that browsers show: PNG, JPEG, WebP or SVG' : { type, bytes }
}

const PICTURES: readonly (readonly [Logo['type'], RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/webp', /^RIFF[\s\S]{4}WEBP/],
  // Declarations and comments may precede it.
  ['image/svg+xml', /^(\xef\xbb\xbf)?\s*(?=<(\?xml|!--|!doctype svg|svg))[\s\S]*<svg[\s>]/i],
]
