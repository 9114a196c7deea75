import { cleanText } from '../text/clean-text.ts'
import { AUDIT_ACTIONS, type AuditAction, type AuditEntry, type AuditedDeed, LONGEST, VIAS } from './audited.ts'

/** Short names, because each entry has them. */
export function encodeDeed({ action, who, hubId, subject, detail }: AuditedDeed): string[] {
  const texts = {
    a: action,
    w: bounded(who.name, LONGEST.name),
    v: who.via,
    f: bounded(who.from ?? '', LONGEST.from),
    h: hubId === undefined ? '' : String(hubId),
    s: bounded(subject ?? '', LONGEST.subject),
    d: bounded(detail ?? '', LONGEST.detail),
  }
  return Object.entries(texts).flatMap(([name, text]) => (text === '' ? [] : [name, text]))
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
export function decodeAudited(id: string, fields: readonly string[]): AuditEntry | undefined {
  const stored = new Map<string, string>()
  for (let n = 0; n + 1 < fields.length; n += 2) stored.set(fields[n] ?? '', fields[n + 1] ?? '')
  const action = AUDIT_ACTIONS.find((one) => one === stored.get('a'))
  const via = VIAS.find((one) => one === stored.get('v'))
  const at = Number(/^(\d{1,16})-\d+$/.exec(id)?.[1])
  if (action === undefined || via === undefined || Number.isNaN(at)) return undefined
  const hubId = Number(/^[1-9]\d{0,15}$/.exec(stored.get('h') ?? '')?.[0])
  const text = (name: string, longest: number) => cleanText(stored.get(name) ?? '', longest) || undefined
  return {
    id,
    at,
    action: action as AuditAction,
    who: { name: text('w', LONGEST.name) ?? '', via, from: text('f', LONGEST.from) },
    hubId: Number.isNaN(hubId) ? undefined : hubId,
    subject: text('s', LONGEST.subject),
    detail: text('d', LONGEST.detail),
  }
}
