import type { Who } from '../audit/audited.ts'
import { openInjectedApi } from '../http/local-api.ts'
import { checkFormat, type FormatReader } from '../redis/format.ts'
import type { Lifecycle } from '../runtime/lifecycle.ts'
import { checkKeys, startWriterReports } from '../tokens/vault-keys.ts'
import { createAccessTokens } from './access-tokens.ts'
import { accountJobsUntil } from './account-jobs.ts'
import { operationDeps } from './operation-deps.ts'
import { openServices } from './services.ts'
import type { AppInput } from './stores.ts'

interface LocalCaller {
  who: Who
  stop: AbortSignal
  missingKeys: 'refused' | 'allowed'
  reader: FormatReader
  /** Name of a process that encrypts tokens: a rekey waits for its end. */
  writer: string | undefined
}

/** The API on data that this process opens itself. The caller closes `lifecycle`, also when this throws. */
export async function openLocalApi(
  input: AppInput,
  lifecycle: Lifecycle,
  { who, stop, missingKeys, reader, writer }: LocalCaller,
): ReturnType<typeof openInjectedApi> {
  const services = await openServices(input, lifecycle, 'pages')
  const { store, keys, vault } = services
  await checkFormat(store, keys, reader)
  await checkKeys(store, keys, vault, missingKeys)
  if (writer !== undefined) {
    const reports = await startWriterReports(services, writer)
    lifecycle.onClose('the reports of its key', () => reports.stop())
  }
  const accessTokens = createAccessTokens(() => services, store)
  const deps = operationDeps({ pages: store, accessTokens, jobs: accountJobsUntil(services, stop), stop }, services)
  return openInjectedApi(deps, who)
}
