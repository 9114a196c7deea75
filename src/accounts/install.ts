import { randomBytes } from 'node:crypto'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { Secret } from '../runtime/secret.ts'
import { type ConnectDeps, type ConnectOutcome, connectWithCode } from './connect-account.ts'

export interface InstallSettings {
  installUrl: string
  clientId: string
  redirectUri: string
  scopes: readonly string[]
  optionalScopes: readonly string[]
}

/** How long somebody may take on the provider's install page. */
const STATE_LIFETIME_MS = 3_600_000

/** A fresh install address (interface 1) whose `state` works once. */
export async function beginInstall(store: Store, keys: Keys, settings: InstallSettings): Promise<string> {
  const state = randomBytes(24).toString('base64url')
  await store.set(keys.installState(state), '1', 'PX', STATE_LIFETIME_MS)
  return installUrl(settings, state)
}

/**
 * The scopes stand there twice: `scopes` and `optional_scopes` are the interface's names, `scope` and `optional_scope`
 * the ones that the provider's install page reads.
 */
export function installUrl(settings: InstallSettings, state: string): string {
  const url = new URL(settings.installUrl)
  const scopes = settings.scopes.join(' ')
  const optional = settings.optionalScopes.join(' ')
  const query: [string, string][] = [
    ['client_id', settings.clientId],
    ['redirect_uri', settings.redirectUri],
    ['scopes', scopes],
    ['scope', scopes],
    ...(optional === ''
      ? []
      : ([
          ['optional_scopes', optional],
          ['optional_scope', optional],
        ] as [string, string][])),
    ['state', state],
  ]
  for (const [name, value] of query) url.searchParams.set(name, value)
  // %20, because not every install page reads a plus as a space.
  url.search = url.search.replaceAll('+', '%20')
  return url.href
}

export interface Redirect {
  code?: string | undefined
  state?: string | undefined
  error?: string | undefined
}

export type InstallOutcome =
  | ConnectOutcome
  | { is: 'refused'; reason: string }
  | { is: 'bad-state' }
  | { is: 'no-code' }

/** The redirect that ends an install. The state is used up first, whatever comes of the rest. */
export async function finishInstall(deps: ConnectDeps, redirect: Redirect): Promise<InstallOutcome> {
  if (redirect.state === undefined || !(await useState(deps, redirect.state))) return { is: 'bad-state' }
  if (redirect.error !== undefined) return { is: 'refused', reason: redirect.error }
  if (redirect.code === undefined || redirect.code === '') return { is: 'no-code' }
  return connectWithCode(deps, new Secret(redirect.code))
}

async function useState(deps: ConnectDeps, state: string): Promise<boolean> {
  if (!/^[A-Za-z0-9_-]{32}$/.test(state)) return false
  return (await deps.store.getdel(deps.keys.installState(state))) !== null
}
