import { type AuditEntry, auditedOf } from '../audit/audited.ts'
import { defined } from '../runtime/defined.ts'
import type { AuditEntryShape } from './shapes/audit.ts'

/** An entry as programs are given it. */
export function auditEntryJson({ id, at, action, who, ...more }: AuditEntry): AuditEntryShape {
  const { hubId, subject, detail } = more
  return {
    id,
    at: new Date(at).toISOString(),
    action,
    who: who.name,
    via: who.via,
    ...defined({ from: who.from, hubId, subject, detail }),
  }
}

/** The action for people: `ann silenced alerts`. */
export function didText({ action }: Pick<AuditEntryShape, 'action'>): string {
  return auditedOf(action).did
}

/** The name of the person or program, with its way in where the name alone may be another one's. */
export function whoText({ who, via }: Pick<AuditEntryShape, 'who' | 'via'>): string {
  const name = who === '' ? 'not known' : who
  return via === 'session' || via === 'daemon' ? name : `${name} (${via})`
}
