import { startSandbox } from '../sandbox/sandbox.ts'
import type { Io } from './io.ts'

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

/** `plimsoll sandbox`. */
export async function sandbox(io: Io, options: SandboxArguments): Promise<void> {
  const { tokenLifetime: tokenLifetimeMs, rotateRefreshTokens = false } = options
  const running = await startSandbox({ ...options, tokenLifetimeMs, rotateRefreshTokens }, io.clock)
  io.out(
    `sandbox   ${running.url}\n` +
      `mail      ${running.smtpUrl}   read it at ${running.url}/sandbox/inbox\n` +
      `webhooks  ${running.url}/sandbox/hooks\n` +
      `requests  ${running.url}/sandbox/requests\n`,
  )
  await new Promise<void>((resolve) => io.stop.addEventListener('abort', () => resolve(), { once: true }))
  await running.close()
}
