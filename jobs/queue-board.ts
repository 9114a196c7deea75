import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import type { AppControllerRoute, IServerAdapter, UIConfig } from '@bull-board/api/typings/app'
import { QUEUE, type Queues } from './queues.ts'

type Answer = (
  params: Record<string, string>,
  query: Record<string, string>,
) => Promise<{ status: number; body: unknown }>

/** The board of the queues for the server: its files, the settings of its page, and its reads. */
export interface QueueBoard {
  /** The page as it comes with the package. */
  page: string
  /** Scripts, styles and pictures: where they are, and their names. */
  files: { folder: string; names: readonly string[] }
  /** The settings for its scripts. */
  config(): Promise<object>
  reads: readonly QueueBoardRead[]
}

export interface QueueBoardRead {
  /** Below the page's own address. */
  path: string
  answer: Answer
}

/**
 * The board's reads, which a test compares with it. They are listed here because the server needs its routes before the
 * board is loaded.
 */
export const READ_PATHS = [
  '/api/redis/stats',
  '/api/queues',
  '/api/job-schedulers',
  ...['metrics', 'default-job-options', 'workers', 'rate-limit', 'job-data-schema'].map(
    (what) => `/api/queues/:queueName/${what}`,
  ),
  ...['', '/logs', '/flow'].map((what) => `/api/queues/:queueName/:jobId${what}`),
] as const

/**
 * The board is loaded when its page is opened: until then a daemon does without its megabytes. What is read of its files is
 * read here, once: when the config is read again, another version may lie there.
 */
export function openQueueBoard(queues: Queues): QueueBoard {
  let opening: Promise<Reads> | undefined
  const opened = () => {
    opening ??= openReads(queues)
    return opening
  }
  const ui = uiFolder()
  const folder = join(ui, 'dist/static')
  return {
    page: readFileSync(join(ui, 'dist/index.ejs'), 'utf8'),
    files: { folder, names: readdirSync(folder, { recursive: true, encoding: 'utf8' }) },
    config: async () => (await opened()).config,
    reads: READ_PATHS.map((path) => ({
      path,
      answer: async (params, query) => {
        const answer = (await opened()).answers.get(path)
        if (answer === undefined) throw new Error(`the queue board has no ${path}`)
        return answer(params, query)
      },
    })),
  }
}

function uiFolder(): string {
  return dirname(createRequire(import.meta.url).resolve('@bull-board/ui/package.json'))
}

/** The settings of the board's page, and its reads by path. */
interface Reads {
  config: object
  answers: ReadonlyMap<string, Answer>
}

/**
 * The board's reads only: none of its routes that change data is handed out, so there is nothing to forbid. A queue
 * that is emptied or paused by hand would cost tokens their refresh.
 */
export async function openReads(queues: Pick<Queues, keyof typeof QUEUE>): Promise<Reads> {
  const [{ createBullBoard }, { BullMQAdapter }] = await Promise.all([
    import('@bull-board/api'),
    import('@bull-board/api/bullMQAdapter'),
  ])
  const collected: AppControllerRoute[] = []
  let config: UIConfig = {}
  const shown = Object.keys(QUEUE).map(
    (name) => new BullMQAdapter(queues[name as keyof typeof QUEUE], { readOnlyMode: true, allowRetries: false }),
  )
  const board = new Map(shown.map((queue) => [queue.getName(), queue]))
  createBullBoard({
    queues: shown,
    serverAdapter: collector(collected, (given) => (config = given)),
    // Bundled, it would not find it itself.
    options: { uiConfig: UI, uiBasePath: uiFolder() },
  })
  const reads = collected.filter(({ method }) => method === 'get')
  return { config, answers: new Map(reads.flatMap((route) => readsOf(route, board, config))) }
}

const UI: UIConfig = {
  boardTitle: 'Queues',
  miscLinks: [{ text: 'Back to Plimsoll', url: '/' }],
  // The link leads elsewhere.
  hideDocsLink: true,
  // Asked of Redis anew for every queue at every request.
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

/** The most jobs of one page: a hundred thousand would hold up the work itself. */
const MOST_JOBS = 100

function sparing(query: Record<string, string>): Record<string, string> {
  const { jobsPerPage } = query
  return Number(jobsPerPage) > MOST_JOBS ? { ...query, jobsPerPage: String(MOST_JOBS) } : query
}

/** An address may name another key of a queue, such as its events. */
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
