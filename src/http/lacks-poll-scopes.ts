/** Any one of these lets the limits endpoints be read. */
const POLL_SCOPE = /^(crm\.objects\..+\.(read|write)|tickets|e-commerce|media_bridge\.read)$/

/** Whether an account was connected without any scope that the limits endpoints accept: its polls will be refused. */
export function lacksPollScopes(scopes: readonly string[]): boolean {
  return !scopes.some((scope) => POLL_SCOPE.test(scope))
}
