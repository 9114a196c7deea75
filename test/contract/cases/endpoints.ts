import type { ProviderClient } from '../../../src/provider/client.ts'
import type { ProviderResult } from '../../../src/provider/failure.ts'
import type { Secret } from '../../../src/runtime/secret.ts'
import type { Fault, FaultyEndpoint } from '../../../src/sandbox/faults.ts'
import type { Contract } from '../contract.ts'

/** One call of each kind, for what is true of all of them. */
export interface Endpoint {
  name: string
  faulty: FaultyEndpoint
  call(
    client: ProviderClient,
    tokens: { code: Secret; access: Secret; refresh: Secret },
  ): Promise<ProviderResult<unknown>>
}

export const ENDPOINTS: readonly Endpoint[] = [
  { name: 'a code exchange', faulty: 'token', call: (client, { code }) => client.exchangeCode(code) },
  { name: 'a refresh', faulty: 'token', call: (client, { refresh }) => client.refresh(refresh) },
  { name: 'metadata', faulty: 'metadata', call: (client, { access }) => client.metadata(access) },
  { name: 'a deletion', faulty: 'delete', call: (client, { refresh }) => client.deleteRefreshToken(refresh) },
  {
    name: 'an association report',
    faulty: 'associations',
    call: (client, { access }) => client.associations(access, '0-1', '0-2'),
  },
  {
    name: 'a custom property report',
    faulty: 'customProperties',
    call: (client, { access }) => client.customProperties(access),
  },
  {
    name: 'the sources of associations',
    faulty: 'companion',
    call: (client, { access }) => client.associationSources(access),
  },
  {
    name: 'the targets of associations',
    faulty: 'companion',
    call: (client, { access }) => client.associationTargets(access, '0-1'),
  },
]

export const LIMITS = ENDPOINTS.slice(4)

/** A deletion's answer has nothing to read. */
export const READING = ENDPOINTS.filter(({ faulty }) => faulty !== 'delete')

/** The result of one call that meets this. */
export async function meeting(
  contract: Contract,
  { faulty, call }: Endpoint,
  fault: Omit<Fault, 'endpoint'>,
  client = contract.client,
): Promise<ProviderResult<unknown>> {
  const tokens = { ...(await contract.connect()), code: await contract.approve() }
  await contract.fault({ ...fault, endpoint: faulty, times: 1 })
  return call(client, tokens)
}
