import { type DestinationStream, type Logger as PinoLogger, pino, stdSerializers } from 'pino'
import { pinoPretty } from './pretty.ts'

/**
 * Structured logs: one JSON object a line. Every line that reports an event carries a `code` (`token.refreshed`,
 * `delivery.failed`), which is what an operator greps for; `hubId` names the account where there is one.
 */
export type Logger = PinoLogger

export interface LogSettings {
  level: 'debug' | 'info' | 'warn' | 'error' | 'silent'
  pretty: boolean
}

/** Names of fields that are secrets wherever they turn up. The last net: nothing should hand them to a log at all. */
const SECRET_FIELDS = [
  'accessToken',
  'refreshToken',
  'access_token',
  'refresh_token',
  'client_secret',
  'clientSecret',
  'adminToken',
  'password',
  'authorization',
  'secret',
  'secrets',
]

/** v1 of the provider's interface carries tokens in paths: whatever follows these segments is taken out of any URL. */
const TOKEN_IN_PATH = /(\/oauth\/v1\/(?:access|refresh)-tokens\/)[^/?#\s"']+/g

export function redactUrls(text: string): string {
  return text.replace(TOKEN_IN_PATH, '$1[secret]').replace(/(\/\/[^/:@\s]+:)[^@/\s]+@/g, '$1[secret]@')
}

function errorWithoutUrls(error: Error): object {
  const { message, stack, ...rest } = stdSerializers.err(error)
  return { ...rest, message: redactUrls(message), stack: redactUrls(stack) }
}

export function createLogger(settings: LogSettings, destination?: DestinationStream): Logger {
  return pino(
    {
      level: settings.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: errorWithoutUrls },
      redact: { paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`]), censor: '[secret]' },
    },
    // Synchronous: the lines written last before a crash are the ones that will be needed.
    destination ?? (settings.pretty ? pinoPretty() : pino.destination({ dest: 1, sync: true })),
  )
}
