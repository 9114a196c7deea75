import type { LogCode } from '../runtime/log-codes.ts'

interface Audited {
  /** Text after the name of the person or program, for people. */
  did: string
  /** Code of its line in the log; undefined: the work that it belongs to has one. */
  code?: LogCode
}

/** Deeds of the audit. One of them is written where it is carried out, for pages, API and commands alike. */
export const AUDITED = {
  'alert.acknowledged': { did: 'acknowledged an alert', code: 'alert.acknowledged' },
  'alert.unacknowledged': { did: 'took an acknowledgement back', code: 'alert.unacknowledged' },
  'silence.added': { did: 'silenced alerts', code: 'silence.added' },
  'silence.ended': { did: 'ended a silence', code: 'silence.ended' },
  'delivery.replayed': { did: 'replayed given-up deliveries', code: 'delivery.replayed' },
  'receiver.tested': { did: 'tested a receiver', code: 'receiver.tested' },
  'account.connected': { did: 'connected an account by its refresh token' },
  'account.contact': { did: 'changed a contact', code: 'account.contact' },
  'account.uninstalled': { did: 'began an uninstall' },
  'accounts.imported': { did: 'imported accounts', code: 'accounts.imported' },
  'accounts.exported': { did: 'exported accounts', code: 'accounts.exported' },
  'admin-token.added': { did: 'made an admin token', code: 'admin-token.added' },
  'admin-token.removed': { did: 'removed an admin token', code: 'admin-token.removed' },
  'keys.rekeyed': { did: 'encrypted all tokens again', code: 'keys.rekeyed' },
  'config.changed': { did: 'started with another config' },
  'config.reloaded': { did: 'reloaded the config' },
  'config.refused': { did: 'reloaded a config that is refused' },
  'account.polled': { did: 'polled an account', code: 'account.polled' },
  'account.refreshed': { did: 'refreshed the tokens of an account', code: 'account.refreshed' },
  'token.served': { did: 'got an access token' },
  'reconnect-link.made': { did: 'was shown a reconnect link', code: 'reconnect-link.made' },
  'reconnect-link.mailed': { did: 'mailed a reconnect link to a customer', code: 'reconnect-link.mailed' },
  'sign-in.done': { did: 'signed in', code: 'http.signed-in' },
  'sign-in.ended': { did: 'signed out', code: 'http.signed-out' },
  'sign-in.refused': { did: 'was refused' },
} as const satisfies Record<string, Audited>

export type AuditAction = keyof typeof AUDITED
export const AUDIT_ACTIONS = Object.keys(AUDITED) as AuditAction[]

export function auditedOf(action: AuditAction): Audited {
  return AUDITED[action]
}

/**
 * How it was asked for: a session that an admin token began, that token itself, a person whom a trusted proxy names, a signed link,
 * a command (the user of the machine), a daemon's own start or signal.
 */
export const VIAS = ['session', 'token', 'proxy', 'link', 'command', 'daemon'] as const
export type Via = (typeof VIAS)[number]

/** The person or program that did it. */
export interface Who {
  /** Name of the admin token, the person, the user of the machine, the daemon. Empty: it is not known. */
  name: string
  via: Via
  /** The address that it came from over the web. */
  from?: string | undefined
}

/** One thing that was done. None of its texts is a secret: callers hand over names and numbers, never what they stand for. */
export interface AuditedDeed {
  action: AuditAction
  who: Who
  hubId?: number | undefined
  /** Object of the deed: the id of an alert or a silence, the name of a receiver or a token. */
  subject?: string | undefined
  /** The rest, in a few words. */
  detail?: string | undefined
}

export interface AuditEntry extends AuditedDeed {
  /** Place in the audit. */
  id: string
  at: number
}

/** How much is kept of each text, in bytes. */
export const LONGEST = { name: 100, from: 110, subject: 100, detail: 300 } as const

export const AUDIT_KEPT_MS = 90 * 86_400_000
/**
 * Newest entries, whatever their age: some 75 MB as it is used, 460 MB where all texts are as long as they may be. What
 * programs and strangers repeat takes 5,000 a day at most of each daemon, so that they do not push out what people do.
 */
export const MOST_ENTRIES = 500_000
