import { createLogger, type Logger } from '../../src/runtime/logger.ts'

/** The real logger, and what it wrote. */
export function logLines(): { log: Logger; text(): string; lines(): Record<string, unknown>[] } {
  let text = ''
  const log = createLogger(
    { level: 'debug', pretty: false },
    {
      write: (line) => {
        text += line
      },
    },
  )
  return {
    log,
    text: () => text,
    lines: () =>
      text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line)),
  }
}
