import type { TokenMetadata } from '../../src/provider/answers.ts'

export const HUB = 123
export const KEEP_MS = 30 * 86_400_000
export const pageOf = (hubId: number) => `https://plimsoll.example.com/accounts/${hubId}`

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
