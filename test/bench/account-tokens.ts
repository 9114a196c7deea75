/** Where in a token the account's id stands: at the beginning of an access token, at the end of a refresh token. */
export const HUB_ID_LENGTH = 12
const FAMILY = 'na1-6f18f21e-a743-4509-b7fd-'
export const REFRESH_TOKEN_LENGTH = FAMILY.length + HUB_ID_LENGTH
/** Access tokens are of 400 characters. */
const FILLER = 'A'.repeat(400 - 2 * HUB_ID_LENGTH - 2)

/**
 * Tokens of the accounts of a cycle, as long as real ones. They say whose they are, so that the far side can answer each
 * account without knowing any.
 */
export function accessTokenOf(hubId: number, issue = 0): string {
  return `${twelve(hubId)}-${twelve(issue)}-${FILLER}`
}

export function refreshTokenOf(hubId: number): string {
  return FAMILY + twelve(hubId)
}

function twelve(value: number): string {
  return String(value).padStart(HUB_ID_LENGTH, '0')
}
