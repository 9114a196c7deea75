import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Queues } from './queues.ts'

/** What bull-board shows of the queues, for whoever serves it: its files, what its page is told, and its reads. */
export interface QueueBoard {
  /** The page as it comes with the package. */
  page: string
  /** Scripts, styles and pictures. */
  files: string
  /** What its scripts are told. */
  config(): Promise<object>
  reads: readonly QueueBoardRead[]
}

export interface QueueBoardRead {
  /** Below the page's own address. */
  path: string
  answer(params: Record<string, string>, query: Record<string, string>): Promise<{ status: number; body: unknown }>
}

/** Its reads, as a test knows that they are. They stand here because the server wants its routes before anybody looks. */
export const READ_PATHS = [
  '/api/redis/stats',
  '/api/queues',
  '/api/job-schedulers',
  ...['metrics', 'default-job-options', 'workers', 'rate-limit', 'job-data-schema'].map(
    (what) => `/api/queues/:queueName/${what}`,
  ),
  ...['', '/logs', '/flow'].map((what) => `/api/queues/:queueName/:jobId${what}`),
] as const

/** The board is loaded when somebody looks: a daemon at whose queues nobody looks does without its megabytes. */
export function openQueueBoard(queues: Queues): QueueBoard {
  let opening: ReturnType<typeof open> | undefined
  const opened = () => {
    opening ??= open(queues)
    return opening
  }
  const ui = dirname(createRequire(import.meta.url).resolve('@bull-board/ui/package.json'))
  return {
    page: join(ui, 'dist/index.ejs'),
    files: join(ui, 'dist/static'),
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

async function open(queues: Queues) {
  const { openReads } = await import('./queue-board-reads.ts')
  return openReads(queues)
}
