import type { Command } from 'commander'
import { InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '../../config/duration.ts'
import { startSandbox } from '../sandbox/sandbox.ts'
import type { Io } from './io.ts'
import { withExample } from './options.ts'

interface SandboxArguments {
  port: number
  smtpPort: number
  accounts: number
  tokenLifetime: number
  rotateRefreshTokens?: boolean
  scenario: 'steady' | 'climbing'
  clientId: string
  clientSecret: string
}

export function addSandbox(program: Command, io: Io): void {
  const command = program
    .command('sandbox')
    .description('run a stand-in for the provider, with a mail inbox and a webhook sink')
    .option('--port <port>', 'HTTP port, 0 = any', parseCount, 8090)
    .option('--smtp-port <port>', 'SMTP port, 0 = any', parseCount, 2525)
    .option('--accounts <count>', 'accounts to begin with', parseCount, 25)
    .addOption(
      new Option('--token-lifetime <duration>', 'life of an access token, such as 30m or 20s')
        .argParser(parseLifetime)
        .default(1_800_000, '30m'),
    )
    .option('--rotate-refresh-tokens', 'every refresh ends the refresh token it was made with')
    .addOption(
      new Option('--scenario <scenario>', 'climbing: usage rises until thresholds are crossed')
        .choices(['steady', 'climbing'])
        .default('steady'),
    )
    .option('--client-id <id>', "the app's client id", 'sandbox-client-id')
    .option('--client-secret <secret>', "the app's client secret", 'sandbox-client-secret')
  withExample(command, 'plimsoll sandbox --port 8090 --accounts 25 --token-lifetime 20s').action(
    (options: SandboxArguments) => run(io, options),
  )
}

async function run(io: Io, options: SandboxArguments): Promise<void> {
  const sandbox = await startSandbox(
    {
      ...options,
      tokenLifetimeMs: options.tokenLifetime,
      rotateRefreshTokens: options.rotateRefreshTokens === true,
    },
    io.clock,
  )
  io.out(
    `sandbox   ${sandbox.url}\n` +
      `mail      ${sandbox.smtpUrl}   read it at ${sandbox.url}/sandbox/inbox\n` +
      `webhooks  ${sandbox.url}/sandbox/hooks\n` +
      `requests  ${sandbox.url}/sandbox/requests\n`,
  )
  await new Promise<void>((resolve) => io.stop.addEventListener('abort', () => resolve(), { once: true }))
  await sandbox.close()
}

function parseCount(text: string): number {
  const count = Number(text)
  if (!/^\d+$/.test(text) || count > 1_000_000) throw new InvalidArgumentError('Expected a whole number.')
  return count
}

export function parseLifetime(text: string): number {
  const ms = parseDuration(text)
  if (ms === undefined || ms <= 0) throw new InvalidArgumentError('Expected a duration such as 20s or 30m.')
  return ms
}
