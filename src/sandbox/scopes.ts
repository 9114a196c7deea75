const READ_AND_WRITE = `
  appointments carts commercepayments companies contacts courses custom deals goals invoices leads
  line_items listings orders partner-clients partner-services products projects quotes services subscriptions users
`
  .trim()
  .split(/\s+/)
const READ_ONLY = ['calls', 'emails', 'meetings', 'notes', 'tasks']

/** Scopes of which any one is enough for a call. */
export interface ScopeRule {
  /** Scopes that an error names, without most of the sensitive ones. */
  readonly named: readonly string[]
  allows(scopes: readonly string[]): boolean
}

function anyOf(named: readonly string[], orLike: RegExp): ScopeRule {
  const accepted = new Set(named)
  return { named, allows: (scopes) => scopes.some((scope) => accepted.has(scope) || orLike.test(scope)) }
}

const OBJECTS = READ_AND_WRITE.flatMap((object) => [`crm.objects.${object}.read`, `crm.objects.${object}.write`])
const OTHERS = ['tickets', 'tickets.sensitive.v2', 'tickets.highly_sensitive.v2', 'e-commerce', 'media_bridge.read']

/**
 * Scopes of nearly all limits endpoints. `oauth` alone and `crm.schemas.*` are not among them.
 * Source: the provider's published OpenAPI descriptions of its limits endpoints, also for the scopes that some versions leave
 * out.
 */
export const LIMIT_SCOPES = anyOf(
  [...OBJECTS, ...READ_ONLY.map((object) => `crm.objects.${object}.read`), ...OTHERS],
  // `crm.objects.custom.sensitive.read.v2` and its like.
  /^crm\.objects\.[a-z_-]+\.(?:highly_)?sensitive\.(?:read|write)(?:\.v2)?$/,
)

/** Scopes of 2026-09: without the read-only objects, and without the sensitive ones of tickets. */
export const FEWER_LIMIT_SCOPES = anyOf(
  [...OBJECTS, ...OTHERS],
  /^crm\.objects\.(?!tickets\.)[a-z_-]+\.(?:highly_)?sensitive\.(?:read|write)(?:\.v2)?$/,
)

/** Scopes for the number of custom object types, in every version. */
export const CUSTOM_OBJECT_SCOPES = anyOf(
  ['objects', 'schemas'].flatMap((kind) => [`crm.${kind}.custom.read`, `crm.${kind}.custom.write`]),
  /^crm\.objects\.custom\.(?:highly_)?sensitive\.(?:read|write)(?:\.v2)?$/,
)
