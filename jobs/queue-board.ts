import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import type { AppControllerRoute, IServerAdapter, UIConfig } from '@bull-board/api/typings/app'
import type { Queues } from './queues.ts'

/** What bull-board shows of the queues, for whoever serves it: its files, what its page is told, and its reads. */
export interface QueueBoard {
  /** The page as it comes with the package. */
  page: string
  /** Scripts, styles and pictures. */
  files: string
  /** What its scripts are told. */
  config: object
  reads: readonly QueueBoardRead[]
}

export interface QueueBoardRead {
  /** Below the page's own address. */
  path: string
  answer(params: Record<string, string>, query: Record<string, string>): Promise<{ status: number; body: unknown }>
}

/**
 * The board's reads only: none of its routes that change something is handed out, so there is nothing to forbid. A queue
 * that is emptied or paused by hand would cost tokens their refresh.
 */
export function openQueueBoard({
  sweep,
  refreshTokens,
  pollLimits,
  uninstall,
  deliver,
  tendHistory,
}: Queues): QueueBoard {
  const collected: AppControllerRoute[] = []
  let config: UIConfig = {}
  const queues = [sweep, refreshTokens, pollLimits, uninstall, deliver, tendHistory].map(
    (queue) => new BullMQAdapter(queue, { readOnlyMode: true, allowRetries: false }),
  )
  const board = new Map(queues.map((queue) => [queue.getName(), queue]))
  createBullBoard({
    queues,
    serverAdapter: collector(collected, (given) => (config = given)),
    options: { uiConfig: UI },
  })
  const ui = dirname(createRequire(import.meta.url).resolve('@bull-board/ui/package.json'))
  return {
    page: join(ui, 'dist/index.ejs'),
    files: join(ui, 'dist/static'),
    config,
    reads: collected.filter(({ method }) => method === 'get').flatMap((route) => readsOf(route, board, config)),
  }
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
): QueueBoardRead[] {
  return [route].flat().map((path) => ({
    path,
    answer: async (params, query) => {
      const asked = { queues, uiConfig, params, query: sparing(query), body: {}, headers: {} }
      try {
        const { status = 200, body } = await handler(asked)
        return { status, body }
      } catch (error) {
        if (isNoJob(error)) return { status: 404, body: { error: { key: 'ERRORS.JOB_NOT_FOUND' } } }
        throw error
      }
    },
  }))
}
