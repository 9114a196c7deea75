import { randomBytes } from 'node:crypto'
import { Secret } from '../runtime/secret.ts'
import type { Vault } from '../tokens/vault.ts'
import { type CodeDeps, type ConnectOutcome, connectWithCode, type Parked, type Waits } from './connect-account.ts'
import { type InstallState, readInstallState, writeInstallState } from './install-state.ts'

export interface InstallSettings {
  installUrl: string
  clientId: string
  redirectUri: string
  scopes: readonly string[]
  optionalScopes: readonly string[]
}

/** A fresh install address (interface 1) whose `state` works once. Anyone may ask for any number: nothing is stored. */
export function beginInstall(vault: Vault, settings: InstallSettings, now: number): string {
  return installUrl(settings, writeInstallState(vault.derive(STATE_KEY), randomBytes(16), now))
}

const STATE_KEY = 'install'

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
  | Waits
  | Parked
  | { is: 'refused'; reason: string }
  | { is: 'bad-state' }
  | { is: 'no-code' }

/** The redirect that ends an install. A state is used up by a code that was sent, by nothing else. */
export async function finishInstall(deps: CodeDeps, redirect: Redirect): Promise<InstallOutcome> {
  const state = readInstallState(deps.vault.deriveEach(STATE_KEY), redirect.state ?? '', deps.clock.now())
  if (state === undefined) return { is: 'bad-state' }
  if (redirect.error !== undefined) return { is: 'refused', reason: redirect.error }
  if (redirect.code === undefined || redirect.code === '') return { is: 'no-code' }
  if (!(await useUp(deps, state))) return { is: 'bad-state' }
  const outcome = await connectWithCode(deps, new Secret(redirect.code))
  if (outcome.is === 'waits') await giveBack(deps, state)
  return outcome
}

/** In Redis, because the same redirect may reach two daemons. As many are kept as codes are sent within an hour. */
async function useUp({ store, keys, clock }: CodeDeps, { nonce, expiresAt }: InstallState): Promise<boolean> {
  const lastsMs = Math.max(1, expiresAt - clock.now())
  return (await store.set(keys.usedInstallState(nonce), '1', 'PX', lastsMs, 'NX')) !== null
}

async function giveBack({ store, keys }: CodeDeps, { nonce }: InstallState): Promise<void> {
  await store.del(keys.usedInstallState(nonce))
}
