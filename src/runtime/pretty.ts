import type { DestinationStream } from 'pino'
import pretty from 'pino-pretty'

/** Log lines for people at a terminal; `destination` is a file descriptor. */
export function pinoPretty(destination = 1): DestinationStream {
  return pretty({ sync: true, destination, ignore: 'code', translateTime: 'SYS:HH:MM:ss', singleLine: true })
}
