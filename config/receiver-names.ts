import { parse } from 'yaml'

/** The names under `receivers` in the text of a config file, whatever else is wrong with it; never throws. */
export function receiverNames(text: string): string[] {
  try {
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
