import * as z from 'zod'
import { readRows, UnreadableFileError } from '../accounts/account-rows.ts'
import type { BadLine, ImportSummary } from '../accounts/import-accounts.ts'
import type { ExportedAccount } from '../accounts/registry.ts'
import { jsonText } from '../runtime/json-text.ts'
import { Secret } from '../runtime/secret.ts'
import { cleanText } from '../text/clean-text.ts'
import { csvLine } from '../text/csv.ts'
import { countOf, formatCount } from '../text/format-number.ts'
import { LINE_TYPES } from '../views/account-history.ts'
import { ConnectedShape, ImportedShape } from '../views/shapes/account.ts'
import { choiceField, flagField, parsedField, textField } from './input.ts'
import { Lines, operation } from './operation.ts'
import { Refusal } from './refusal.ts'

const MUST_BE_TOKEN = 'must be one refresh token and nothing else'

export const connectAccount = operation({
  id: 'connectAccount',
  method: 'POST',
  path: '/accounts',
  summary: 'take over an account in which the app was installed before',
  description:
    'Plimsoll uses the refresh token at once. If the provider replaces it and the account can not be stored yet, the new token is kept ' +
    'encrypted: send the same request again.',
  input: z.strictObject({
    refreshToken: parsedField(
      'the refresh token of the account',
      (given) => (/^\S{1,4000}$/.test(given) ? new Secret(given) : undefined),
      MUST_BE_TOKEN,
      {
        'x-sent': { type: 'string', writeOnly: true },
        'x-option': 'refresh-token-file',
        'x-word': 'file',
        'x-file': true,
      },
    ),
  }),
  output: ConnectedShape,
  problems: [409, 502],
  command: {
    name: 'accounts connect',
    examples: ['--refresh-token-file ./token.txt'],
    busy: 'asking the provider',
    begins: true,
    writesTokens: true,
  },
  run: async ({ actions }, { input: { refreshToken }, who }) => {
    const outcome = await actions.connect(refreshToken, who)
    if (outcome.is === 'busy') throw new Refusal('conflict', 'this refresh token is being redeemed just now')
    if (outcome.is !== 'failed') return outcome
    const { step, failure } = outcome
    if (step === 'token') {
      throw new Refusal('provider-failed', `the provider did not take the refresh token: ${failure.message}`)
    }
    const why = `whose token it is could not be read: ${failure.message}; nothing was stored`
    const hint = 'run this again: a newer token that the provider gave for it is kept sealed, and is used then'
    throw new Refusal('provider-failed', why, { hint })
  },
  json: ({ hubId, hubDomain, scopes, is }) => ({ hubId, hubDomain, state: 'active', scopes, outcome: is }),
  table: ({ hubId, hubDomain, is }) => [`${is} account ${hubId} ${cleanText(hubDomain)}`.trimEnd()],
})

/** Bad lines that are named one by one: of a file of the wrong kind every line is bad. */
const MOST_NAMED = 50

interface Imported extends ImportSummary {
  name: string
  badLines: readonly BadLine[]
}

export const importAccounts = operation({
  id: 'importAccounts',
  method: 'POST',
  path: '/accounts/import',
  summary: 'bring many accounts in with their refresh tokens; run again, it continues where it ended',
  description:
    'The body is the file: CSV with a header (hubId,refreshToken,hubDomain) as spreadsheets save it, or one JSON object a line. ' +
    'Each good line is stored as it comes, and each bad one is named.',
  takesFile: true,
  input: z.strictObject({
    name: textField("the file's name: its ending shows a file of JSON lines", { 'x-option': false }).default(
      'the file',
    ),
    replace: flagField('overwrite accounts that are known already, and bring back those that were uninstalled'),
  }),
  output: ImportedShape,
  command: {
    name: 'accounts import',
    examples: ['fleet.csv'],
    busy: 'lines',
    begins: true,
    writesTokens: true,
  },
  run: async ({ actions }, { input: { name, replace }, who, file, stop, onlooker }): Promise<Imported> => {
    if (file === undefined) throw new Refusal('wrong', 'the body must be the file')
    const badLines: BadLine[] = []
    let done = 0
    const how = {
      replace,
      stop,
      onBad: (bad: BadLine) => {
        if (badLines.length === MOST_NAMED) return
        badLines.push(bad)
        onlooker?.note(`line ${bad.line} ${bad.problem}`)
      },
      onProgress: (lines: number) => {
        done += lines
        onlooker?.progress(done, undefined)
      },
    }
    const summary = await actions.importAccounts(readRows(file, name), how, who).catch((error: unknown) => {
      if (!(error instanceof UnreadableFileError)) throw error
      throw new Refusal('wrong', `${name} can't be imported: ${error.message}`)
    })
    return { ...summary, name, badLines }
  },
  json: ({ name: _, ...imported }) => imported,
  // Each bad line was told as it was found.
  table: ({ imported, kept, keptUninstalled, replaced, bad, badLines }) => {
    const uninstalled =
      keptUninstalled === 0 ? '' : ` (${formatCount(keptUninstalled)} of them uninstalled: --replace brings them back)`
    const counts = `imported ${formatCount(imported)}, kept ${formatCount(kept)}${uninstalled}`
    return [
      ...(bad > badLines.length ? [`and ${formatCount(bad - badLines.length)} more bad lines`] : []),
      `${counts}, replaced ${formatCount(replaced)}, bad ${formatCount(bad)}`,
    ]
  },
  fails: ({ stopped, bad, name }) => {
    if (stopped) return `stopped: run it again to import the rest of ${name}`
    return bad === 0 ? undefined : `${name} has ${countOf(bad, 'bad line')}; the others are in`
  },
})

const COLUMNS = ['hubId', 'hubDomain', 'state', 'user', 'contact', 'connectedAt', 'sealedRefreshToken'] as const

export const exportAccounts = operation({
  id: 'exportAccounts',
  method: 'GET',
  path: '/accounts/export',
  scope: 'tokens',
  summary: 'write the live accounts to a file, refresh tokens sealed, for an installation with the same key',
  description: 'Uninstalled ones are left out. The refresh tokens in it open only with the key of this installation.',
  input: z.strictObject({
    format: choiceField(['csv', 'jsonl'], 'CSV, or one JSON object a line').default('csv'),
  }),
  output: z.string().describe('The live accounts, a line each.'),
  types: Object.values(LINE_TYPES),
  command: {
    name: 'accounts export',
    examples: ['fleet.csv', '- --format jsonl > fleet.jsonl'],
    saves: true,
  },
  run: async ({ actions }, { input: { format }, who, stop }) =>
    new Lines(LINE_TYPES[format], `accounts.${format}`, exportLines(actions.exportAccounts(who, stop), format)),
})

async function* exportLines(fleet: AsyncIterable<ExportedAccount[]>, format: 'csv' | 'jsonl'): AsyncGenerator<string> {
  if (format === 'csv') yield `${COLUMNS.join(',')}\n`
  const lineOf = format === 'csv' ? csvRow : jsonLine
  for await (const accounts of fleet) yield accounts.map(lineOf).join('')
}

function jsonLine(account: ExportedAccount): string {
  return `${jsonText(clean(account))}\n`
}

/** The token is ours: base64 of any length, whose first byte makes it no formula. */
function csvRow(account: ExportedAccount): string {
  const { hubId, hubDomain, state, user, contact, connectedAt, sealedRefreshToken } = clean(account)
  return `${csvLine([hubId, hubDomain, state, user, contact, connectedAt]).trimEnd()},${sealedRefreshToken}\n`
}

/** Domain and user are strangers' texts: each stays one line, as `import` wants it. */
function clean(account: ExportedAccount): ExportedAccount {
  const hubDomain = cleanText(account.hubDomain, 255).replaceAll(' ', '')
  return { ...account, hubDomain, user: cleanText(account.user, 250) }
}
