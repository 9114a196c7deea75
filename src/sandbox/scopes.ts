const READ_AND_WRITE = `
  appointments carts commercepayments companies contacts courses custom deals goals invoices leads
  line_items listings orders partner-clients partner-services products projects quotes services subscriptions users
`
  .trim()
  .split(/\s+/)
const READ_ONLY = ['calls', 'emails', 'meetings', 'notes', 'tasks']

/** `crm.objects.custom.sensitive.read.v2` and its like. */
const SENSITIVE = /^crm\.objects\.[a-z_-]+\.(?:highly_)?sensitive\.(?:read|write)(?:\.v2)?$/

/**
 * The scopes of which the limits endpoints want any one. `oauth` alone and `crm.schemas.*` are not among them.
 * Source: the provider's published OpenAPI description of its limits endpoints.
 */
export const LIMIT_SCOPES: readonly string[] = [
  ...READ_AND_WRITE.flatMap((object) => [`crm.objects.${object}.read`, `crm.objects.${object}.write`]),
  ...READ_ONLY.map((object) => `crm.objects.${object}.read`),
  'tickets',
  'tickets.sensitive.v2',
  'tickets.highly_sensitive.v2',
  'e-commerce',
  'media_bridge.read',
]

const ACCEPTED = new Set(LIMIT_SCOPES)

export function readsLimits(scopes: readonly string[]): boolean {
  return scopes.some((scope) => ACCEPTED.has(scope) || SENSITIVE.test(scope))
}
