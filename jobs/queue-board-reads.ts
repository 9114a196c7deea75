import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import type { AppControllerRoute, IServerAdapter, UIConfig } from '@bull-board/api/typings/app'
import type { Queues } from './queues.ts'

type Answer = (
  params: Record<string, string>,
  query: Record<string, string>,
) => Promise<{ status: number; body: unknown }>

/** What the board's page is told, and what it reads by path. */
export interface QueueBoardReads {
  config: object
  answers: ReadonlyMap<string, Answer>
}

/**
 * The board's reads only: none of its routes that change something is handed out, so there is nothing to forbid. A queue
 * that is emptied or paused by hand would cost tokens their refresh.
 */
export function openReads({ refreshTokens, pollLimits, uninstall, deliver, tendHistory }: Queues): QueueBoardReads {
  const collected: AppControllerRoute[] = []
  let config: UIConfig = {}
  const queues = [refreshTokens, pollLimits, uninstall, deliver, tendHistory].map(
    (queue) => new BullMQAdapter(queue, { readOnlyMode: true, allowRetries: false }),
  )
  const board = new Map(queues.map((queue) => [queue.getName(), queue]))
  createBullBoard({
    queues,
    serverAdapter: collector(collected, (given) => (config = given)),
    options: { uiConfig: UI },
  })
  const reads = collected.filter(({ method }) => method === 'get')
  return { config, answers: new Map(reads.flatMap((route) => readsOf(route, board, config))) }
}

const UI: UIConfig = {
  boardTitle: 'Queues',
  miscLinks: [{ text: 'Back to Plimsoll', url: '/queues' }],
  // It leads elsewhere.
  hideDocsLink: true,
  // Asked of Redis anew for every queue at every look.
  showWorkers: false,
  pollingInterval: { showSetting: true, forceInterval: 5 },
}

/** Takes down what the board would have a server do. */
function collector(collected: AppControllerRoute[], configure: (config: UIConfig) => void): IServerAdapter {
  const adapter: IServerAdapter = {
    setQueues: () => adapter,
    setViewsPath: () => adapter,
    setStaticPath: () => adapter,
    setEntryRoute: () => adapter,
    setErrorHandler: () => adapter,
    setApiRoutes: (routes) => {
      collected.push(...routes)
      return adapter
    },
    setUIConfig: (config) => {
      configure(config)
      return adapter
    },
  }
  return adapter
}

/** The most jobs that are looked at in one go: a page of a hundred thousand would hold up the work that they stand for. */
const MOST_JOBS = 100

function sparing(query: Record<string, string>): Record<string, string> {
  const { jobsPerPage } = query
  return Number(jobsPerPage) > MOST_JOBS ? { ...query, jobsPerPage: String(MOST_JOBS) } : query
}

/** An address may name something else that a queue keeps, such as its events. */
function isNoJob(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('WRONGTYPE ')
}

function readsOf(
  { route, handler }: AppControllerRoute,
  queues: Map<string, BullMQAdapter>,
  uiConfig: UIConfig,
): [path: string, answer: Answer][] {
  const answer: Answer = async (params, query) => {
    const asked = { queues, uiConfig, params, query: sparing(query), body: {}, headers: {} }
    try {
      const { status = 200, body } = await handler(asked)
      return { status, body }
    } catch (error) {
      if (isNoJob(error)) return { status: 404, body: { error: { key: 'ERRORS.JOB_NOT_FOUND' } } }
      throw error
    }
  }
  return [route].flat().map((path) => [path, answer])
}
