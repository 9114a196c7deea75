import { hash } from 'node:crypto'

/** Length of the digest of one answer: a poll keeps one for each report. Two collide less than once in 10^10 changes. */
export const ANSWER_DIGEST = 6
const LENGTH = 8

export function shortDigest(text: string | Buffer): string {
  return hash('sha1', text, 'base64url').slice(0, LENGTH)
}

/** Digest of each answer in the order of the calls, one behind the other. */
export function answerDigests(bodies: readonly (string | Buffer)[]): string {
  let digests = ''
  for (const body of bodies) digests += shortDigest(body).slice(0, ANSWER_DIGEST)
  return digests
}
