import type { LogCode } from '../runtime/log-codes.ts'

/**
 * The parts that the audit is kept in, each with its own room: what strangers or programs cause as often as they like must not
 * push out what people did. Newest entries of each, whatever their number of bytes: see `LONGEST`.
 */
export const PARTS = {
  changes: 20_000,
  /** Polls and refreshes that were asked for. */
  runs: 10_000,
  /** Access tokens that programs got. */
  tokens: 10_000,
  links: 10_000,
  'sign-ins': 10_000,
  refused: 10_000,
} as const
export type Part = keyof typeof PARTS
export const PART_NAMES = Object.keys(PARTS) as Part[]

interface Audited {
  part: Part
  /** Text after the name of the person or program, for people. */
  did: string
  /** Code of its line in the log; undefined: the work that it belongs to has one. */
  code?: LogCode
}

/** Deeds of the audit. One of them is written where it is carried out, for pages, API and commands alike. */
export const AUDITED = {
  'alert.acknowledged': { part: 'changes', did: 'acknowledged an alert', code: 'alert.acknowledged' },
  'alert.unacknowledged': { part: 'changes', did: 'took an acknowledgement back', code: 'alert.unacknowledged' },
  'silence.added': { part: 'changes', did: 'silenced alerts', code: 'silence.added' },
  'silence.ended': { part: 'changes', did: 'ended a silence', code: 'silence.ended' },
  'delivery.replayed': { part: 'changes', did: 'replayed given-up deliveries', code: 'delivery.replayed' },
  'receiver.tested': { part: 'changes', did: 'tested a receiver', code: 'receiver.tested' },
  'account.connected': { part: 'changes', did: 'connected an account by its refresh token' },
  'account.contact': { part: 'changes', did: 'changed a contact', code: 'account.contact' },
  'account.uninstalled': { part: 'changes', did: 'began an uninstall' },
  'accounts.imported': { part: 'changes', did: 'imported accounts', code: 'accounts.imported' },
  'accounts.exported': { part: 'changes', did: 'exported accounts', code: 'accounts.exported' },
  'admin-token.added': { part: 'changes', did: 'made an admin token', code: 'admin-token.added' },
  'admin-token.removed': { part: 'changes', did: 'removed an admin token', code: 'admin-token.removed' },
  'keys.rekeyed': { part: 'changes', did: 'encrypted all tokens again', code: 'keys.rekeyed' },
  'config.changed': { part: 'changes', did: 'started with another config' },
  'config.reloaded': { part: 'changes', did: 'reloaded the config' },
  'config.refused': { part: 'changes', did: 'reloaded a config that is refused' },
  'account.polled': { part: 'runs', did: 'polled an account', code: 'account.polled' },
  'account.refreshed': { part: 'runs', did: 'refreshed the tokens of an account', code: 'account.refreshed' },
  'token.served': { part: 'tokens', did: 'got an access token' },
  'reconnect-link.made': { part: 'links', did: 'was shown a reconnect link', code: 'reconnect-link.made' },
  'reconnect-link.mailed': {
    part: 'changes',
    did: 'mailed a reconnect link to a customer',
    code: 'reconnect-link.mailed',
  },
  'sign-in.done': { part: 'sign-ins', did: 'signed in', code: 'http.signed-in' },
  'sign-in.ended': { part: 'sign-ins', did: 'signed out', code: 'http.signed-out' },
  'sign-in.refused': { part: 'refused', did: 'was refused' },
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
  /** Place in the audit: that of Redis, and its part, because two parts may give out one place. */
  id: string
  at: number
}

/** How much is kept of each text, in bytes: with all parts full some 5 MB as it is used, 58 MB where each text is as long. */
export const LONGEST = { name: 100, from: 110, subject: 100, detail: 300 } as const

export const AUDIT_KEPT_MS = 90 * 86_400_000
