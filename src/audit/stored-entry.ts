import { cleanText } from '../text/clean-text.ts'
import { AUDIT_ACTIONS, type AuditEntry, type AuditedDeed, LONGEST, VIAS } from './audited.ts'

/** A deed as JSON. */
export function encodeDeed({ action, who, hubId, subject = '', detail = '' }: AuditedDeed): string {
  return JSON.stringify({
    action,
    who: {
      name: bounded(who.name, LONGEST.name),
      via: who.via,
      from: bounded(who.from ?? '', LONGEST.from) || undefined,
    },
    hubId,
    subject: bounded(subject, LONGEST.subject) || undefined,
    detail: bounded(detail, LONGEST.detail) || undefined,
  })
}

/** One harmless line of so many bytes at most: what Redis has room for is bytes, and a character may take four. */
function bounded(text: string, bytes: number): string {
  for (let characters = bytes; ; ) {
    const line = cleanText(text, characters)
    const over = Buffer.byteLength(line) - bytes
    if (over <= 0) return line
    characters -= Math.ceil(over / 4)
  }
}

/** Undefined for what this version does not know, or another program wrote. */
export function decodeAudited(id: string, [, json = '']: readonly string[]): AuditEntry | undefined {
  const stored = read(json)
  const who = stored.who as Partial<Record<string, unknown>> | undefined
  const action = AUDIT_ACTIONS.find((one) => one === stored.action)
  const via = VIAS.find((one) => one === who?.via)
  if (action === undefined || via === undefined) return undefined
  const line = (text: unknown, longest: number) => (typeof text === 'string' && cleanText(text, longest)) || undefined
  return {
    id,
    at: Number.parseInt(id, 10),
    action,
    who: { name: line(who?.name, LONGEST.name) ?? '', via, from: line(who?.from, LONGEST.from) },
    hubId: Number.isSafeInteger(stored.hubId) ? (stored.hubId as number) : undefined,
    subject: line(stored.subject, LONGEST.subject),
    detail: line(stored.detail, LONGEST.detail),
  }
}

function read(json: string): Partial<Record<string, unknown>> {
  try {
    return Object(JSON.parse(json))
  } catch {
    return {}
  }
}
