import type { Who } from '../audit/audited.ts'
import { openInjectedApi } from '../http/local-api.ts'
import { openData } from '../redis/open-data.ts'
import type { Lifecycle } from '../runtime/lifecycle.ts'
import { checkKeys } from '../tokens/vault-keys.ts'
import { accountJobs, createAccessTokens } from './account-jobs.ts'
import type { AppInput } from './input.ts'
import { operationDeps } from './operation-deps.ts'
import { startReports } from './process-reports.ts'
import { openResources } from './resources.ts'
import { buildServices } from './services.ts'

interface LocalCaller {
  who: Who
  stop: AbortSignal
  missingKeys: 'refused' | 'allowed'
  /** Name of a process that encrypts tokens. */
  writer: string | undefined
}

/** The API on data that this process opens itself. The caller closes `lifecycle`, also when this throws. */
export async function openLocalApi(
  input: AppInput,
  lifecycle: Lifecycle,
  { who, stop, missingKeys, writer }: LocalCaller,
): ReturnType<typeof openInjectedApi> {
  const services = buildServices(await openResources(input, lifecycle, 'pages'), input.config)
  lifecycle.onClose('the receivers', () => services.close())
  const { store, keys, vault, pending } = services
  await openData(services, lifecycle)
  await checkKeys(store, keys, vault, missingKeys)
  if (writer !== undefined) {
    const reports = await startReports(
      () => services,
      writer,
      async () => ({ config: '', roles: [] }),
    )
    lifecycle.onClose('the reports of its key', () => reports.stop())
  }
  // Answers that Redis does not take would be waited for without end.
  stop.addEventListener('abort', () => pending.end(), { once: true })
  const current = () => services
  const acting = {
    pages: store,
    accessTokens: createAccessTokens(current, store),
    jobs: accountJobs(current, stop),
    stop,
  }
  return openInjectedApi(operationDeps(acting, services), who)
}
