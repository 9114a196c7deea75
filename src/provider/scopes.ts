/** Any one of these lets both limits endpoints be read; `oauth` and schema scopes don't. */
const LIMITS_SCOPE = /^(crm\.objects\..+\.(read|write)(\.v\d+)?|tickets(\..+)?|e-commerce|media_bridge\.read)$/

/** Whether polls will be answered with these scopes, or refused. */
export function opensLimits(scopes: readonly string[]): boolean {
  return scopes.some((scope) => LIMITS_SCOPE.test(scope))
}
