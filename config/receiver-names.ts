import { parse } from 'yaml'

/** The names under `receivers` in the text of a config file, as far as it can be read; never throws. */
export function receiverNames(text: string): string[] {
  try {
    // Silent: it may be half written.
    const config: unknown = parse(text, { logLevel: 'silent' })
    const receivers = isRecord(config) ? config.receivers : undefined
    return isRecord(receivers) ? Object.keys(receivers) : []
  } catch {
    return []
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
