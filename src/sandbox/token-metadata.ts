import { createHash } from 'node:crypto'
import type { AccessToken, Grant, World } from './world.ts'

/** The app's id at the provider. */
export const APP_ID = 2_210_331

/** Everything that is known of a live access token: the fields of the v1 metadata endpoint. */
export function accessTokenMetadata(token: AccessToken, world: World): object {
  const { account, scopes } = token.grant
  return {
    token: token.token,
    user: account.user,
    hub_domain: account.hubDomain,
    scopes,
    signed_access_token: signedAccessToken(token),
    hub_id: account.hubId,
    app_id: APP_ID,
    expires_in: world.secondsLeft(token),
    user_id: account.userId,
    token_type: 'access',
  }
}

export function refreshTokenMetadata(token: string, { account, scopes }: Grant, clientId: string): object {
  return {
    token,
    user: account.user,
    hub_domain: account.hubDomain,
    scopes,
    hub_id: account.hubId,
    client_id: clientId,
    user_id: account.userId,
    token_type: 'refresh',
  }
}

function signedAccessToken({ token, grant, expiresAt }: AccessToken): object {
  const { account, scopes } = grant
  return {
    expiresAt,
    scopes: encoded(scopes.join(' ')),
    hubId: account.hubId,
    userId: account.userId,
    appId: APP_ID,
    signature: encoded(token, 20),
    scopeToScopeGroupPks: encoded(`groups of ${scopes.join(' ')}`),
    newSignature: encoded(`new ${token}`, 32),
    hublet: 'na1',
    trialScopes: '',
    trialScopeToScopeGroupPks: '',
    isUserLevel: false,
  }
}

/** Opaque and one-way, but the same for the same thing: a client must not be able to read anything into it. */
function encoded(text: string, bytes = 12): string {
  return createHash('sha256').update(text).digest().subarray(0, bytes).toString('base64')
}
