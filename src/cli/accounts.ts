import { accountArgument, argument, type CommandSpec, option, parseAccounts, parseTime } from './arguments.ts'

/** Commands about accounts. */
export const ACCOUNT_COMMANDS: Readonly<Record<string, CommandSpec>> = {
  'accounts connect': {
    is: 'take over an account in which the app was installed before',
    options: [
      option('--refresh-token-file <file>', 'file with the refresh token, and nothing else').makeOptionMandatory(),
    ],
    examples: ['--refresh-token-file ./token.txt'],
    run: async () => (await import('./accounts-connect.ts')).connect,
  },
  'accounts import': {
    is: 'bring many accounts in with their refresh tokens; run again, it goes on where it ended',
    args: [
      argument(
        '<file>',
        'CSV with a header (hubId,refreshToken,hubDomain) as spreadsheets save it, or one JSON object a line; - is standard input',
      ),
    ],
    options: [
      option('--replace', 'overwrite accounts that are known already, and bring back those that were uninstalled'),
    ],
    examples: ['fleet.csv'],
    run: async () => (await import('./accounts-files.ts')).importFile,
  },
  'accounts export': {
    is: 'write the live accounts to a file, refresh tokens sealed, for an installation with the same key',
    args: [argument('<file>', 'ends in .csv or .jsonl; - is standard output')],
    options: [
      option('--format <format>', 'where the name of the file does not show it').choices(['csv', 'jsonl']),
      option('--force', 'overwrite the file'),
    ],
    examples: ['fleet.csv', '- --format jsonl > fleet.jsonl'],
    run: async () => (await import('./accounts-files.ts')).exportFile,
  },
  'accounts reconnect-link': {
    is: 'print a link for the customer that connects this account again and no other',
    args: [accountArgument()],
    examples: ['acme.example.com'],
    run: async () => (await import('./accounts-connect.ts')).printReconnectLink,
  },
  'accounts history': {
    is: "show how accounts' limits moved",
    args: [argument('[accounts...]', 'hub ids or domains; none: all').argParser(parseAccounts)],
    options: [
      option(
        '--from <time>',
        '2026-11-21T18:00 (in http.timeZone), ISO 8601, or how long ago: 2d; default: a week',
      ).argParser(parseTime),
      option('--to <time>', 'the same; default: now').argParser(parseTime),
      option('--resolution <resolution>', 'each change, or the last reading of each hour or day (UTC)')
        .choices(['raw', 'hourly', 'daily'])
        .default('raw'),
      option('--csv', 'print CSV, one line per series and moment').conflicts(['json', 'jsonl']),
      option('--jsonl', 'print one JSON object per series and moment').conflicts(['json', 'csv']),
    ],
    examples: ['1234567 --from 2d', '--resolution daily --from 90d --csv > history.csv'],
    run: async () => (await import('./accounts-history.ts')).history,
  },
}
