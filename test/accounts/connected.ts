import type { CodeDeps } from '../../src/accounts/connect-account.ts'
import type { UninstallDeps } from '../../src/accounts/uninstall.ts'
import { closeAlerts } from '../../src/alerts/kinds/notified-alert.ts'
import { grantAnnouncer, pollAnnouncer } from '../../src/alerts/kinds/poll-alert.ts'
import { tokenAnnouncer } from '../../src/alerts/kinds/token-alert.ts'
import type { TokenMetadata } from '../../src/provider/answers.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { PendingTokens } from '../../src/tokens/pending-tokens.ts'
import { TokenStore } from '../../src/tokens/token-store.ts'
import { vault } from '../support/accounts.ts'
import { CodeDoor } from '../support/endpoint.ts'
import { type FakeAnswers, fakeProvider } from '../support/fake-provider.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { memoryFile } from '../support/memory-file.ts'

export const HUB = 123
export const KEEP_MS = 30 * 86_400_000
export const pageOf = (hubId: number) => `https://plimsoll.example.com/accounts/${hubId}`
const pages = { pageOf }
export const announce = tokenAnnouncer(pages)
const grant = { ...pages, scopes: ['oauth', 'crm.objects.contacts.read'] }
export const announceScopes = grantAnnouncer(grant)
export const announcePoll = pollAnnouncer({ ...grant, opensLimits: true, repeatEveryMs: 86_400_000 })

export function metadata(more: Partial<TokenMetadata> = {}): { ok: true; value: TokenMetadata } {
  return {
    ok: true,
    value: {
      hubId: HUB,
      hubDomain: 'acme.example.com',
      user: 'ada@acme.example.com',
      scopes: ['oauth', 'crm.objects.contacts.read'],
      lifeLeftMs: undefined,
      ...more,
    },
  }
}

/** What connecting and uninstalling need, with a provider that does what the test says. */
export function office(store: Store, keys: Keys, does: FakeAnswers, clock = new HandClock()) {
  const provider = fakeProvider(does)
  const logged = logLines()
  const door = new CodeDoor()
  const tokens = new TokenStore(store, keys)
  const deps: CodeDeps & UninstallDeps = {
    provider,
    endpoint: door,
    store,
    keys,
    vault,
    tokens,
    pending: new PendingTokens({ tokens, vault, clock, log: logged.log, file: memoryFile() }),
    announce,
    announceScopes,
    closeAlerts: closeAlerts.bind(undefined, pageOf),
    uninstallKeepMs: KEEP_MS,
    dataDir: '/dev/null',
    settings: { refreshFrom: 0.5, refreshBy: 0.8 },
    clock,
    log: logged.log,
  }
  return { deps, provider, door, clock, logged }
}
