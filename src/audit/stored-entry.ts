import * as z from 'zod'
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

const line = (longest: number) => z.string().transform((text) => cleanText(text, longest))
const Deed = z.object({
  action: z.enum(AUDIT_ACTIONS),
  who: z.object({ name: line(LONGEST.name), via: z.enum(VIAS), from: line(LONGEST.from).optional() }),
  hubId: z.int().positive().optional(),
  subject: line(LONGEST.subject).optional(),
  detail: line(LONGEST.detail).optional(),
})

/** Undefined for what this version does not know, or another program wrote. */
export function decodeAudited(id: string, [, json = '']: readonly string[]): AuditEntry | undefined {
  try {
    return { id, at: Number.parseInt(id, 10), ...Deed.parse(JSON.parse(json)) }
  } catch {
    return undefined
  }
}
