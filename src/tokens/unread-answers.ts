import { randomUUID } from 'node:crypto'
import type { UnreadAnswer } from '../provider/failure.ts'
import { Secret } from '../runtime/secret.ts'
import { type Holder, holderFacts, type TokenDeps } from './pending-tokens.ts'
import { openFiles, sealedLine, writeLines } from './sealed-tokens.ts'
import type { Vault } from './vault.ts'

const UNREAD = '.unread'

/** An answer of the token endpoint that could not be read, of an account or of the grant of an install. */
export interface KeptUnread extends UnreadAnswer {
  holder: Holder
  /** Version of the tokens that were stored then. */
  version?: string
  /** The only account that an install may connect. */
  only?: number | undefined
}

/**
 * Seals the answer into a file of the data folder, one for an account: a later answer is a further line, because the first one
 * may hold the token that works. Returns the outcome, for people. Never throws.
 */
export function keepUnread(
  { vault, log }: Pick<TokenDeps, 'vault' | 'log'>,
  dataDir: string,
  { holder, body, sent, ...others }: KeptUnread,
): string {
  try {
    const name = `${typeof holder === 'number' ? holder : randomUUID()}${UNREAD}`
    const before = openFiles(vault, dataDir, UNREAD).find((file) => file.name === name)?.lines ?? []
    const text = new Secret(JSON.stringify({ ...others, body: body.reveal(), sent: sent.reveal() }))
    const lines = [...before.map(({ line }) => line), sealedLine(vault, holder, text)]
    return `it is kept sealed in ${writeLines(dataDir, name, lines)}`
  } catch (err) {
    const facts = { code: 'token.not-sealed', ...holderFacts(holder), err } as const
    log.error(facts, 'an unread answer could not be kept on disk')
    return `it could not be kept in ${dataDir}`
  }
}

/** Answers that could not be read, by the names of their files; undefined: no key opens it. */
export function readUnread(vault: Vault, dataDir: string): { name: string; answers: (KeptUnread | undefined)[] }[] {
  return openFiles(vault, dataDir, UNREAD).map(({ name, lines }) => ({
    name,
    answers: lines.map(({ holder, text }) => {
      if (text === undefined) return undefined
      const { body, sent, ...others } = JSON.parse(text.reveal())
      return { ...others, holder, body: new Secret(body), sent: new Secret(sent) }
    }),
  }))
}
