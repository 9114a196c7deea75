import { readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../runtime/clock.ts'
import { redisAway, requireRedis } from '../redis-away.ts'
import type { QueueBoardRoutes, WebDeps } from '../web-deps.ts'
import { BOARD_PATH } from './parts/queues.ts'

/** Queues wait for their Redis as long as it takes; a page does not. */
const TIMEOUT_MS = 5_000

/** Two styles that its scripts make, each by the hash of its text: the colors of a picture, and lists without a scroll bar. */
const OWN_STYLES =
  "'sha256-r2N1TB/gHbBtBZFKg7ejmq1acVSREzucTAEw6ga4hoU=' 'sha256-kLmvWqfziFavKtqHqRsb90f006UAK2Dmd0It5Iz2KFA='"

/**
 * Our own pages' policy, with two exceptions for the board: its page names where its files are (base-uri), and its pictures
 * come partly as data. Nothing inline runs: the page's settings are data, not a script.
 */
const POLICY = `default-src 'none'; style-src 'self' ${OWN_STYLES}; script-src 'self'; connect-src 'self'; img-src 'self' data:; worker-src 'self'; form-action 'none'; base-uri 'self'; frame-ancestors 'none'`

/** Routes of the board's own scripts. */
const VIEWS = ['', '/queue/:queueName', '/queue/:queueName/:jobId', '/job-schedulers', '/metrics-history']

/** The jobs themselves, read-only. */
export function serveQueueBoard(app: FastifyInstance, deps: WebDeps): void {
  const { queueBoard: board } = deps
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('content-security-policy', POLICY)
  })
  for (const view of VIEWS) {
    app.get(BOARD_PATH + view, async (_request, reply) =>
      reply.type('text/html; charset=utf-8').send(boardPage(board.page, await board.config())),
    )
  }
  for (const { path, answer } of board.reads) {
    app.get(BOARD_PATH + path, (request, reply) => answerRead(deps, answer, request, reply))
  }
  serveFiles(app, board.files)
}

/**
 * The board's page without the parts that our policy would have to allow for it: fonts from elsewhere, a style and styled
 * elements that only fill the moment until its scripts run. Only the names of its files are taken from the package's template.
 */
function boardPage(template: string, config: object): string {
  const styles = [...template.matchAll(/<link href="(static\/[\w./-]+\.css)" rel="stylesheet">/g)]
  const scripts = [...template.matchAll(/<script defer src="(static\/[\w./-]+\.js)"><\/script>/g)]
  if (styles.length === 0 || scripts.length === 0) throw new Error('the page of the queue board is not as it was')
  const json = JSON.stringify(config).replaceAll('<', '\\u003c')
  return `<!doctype html>
<html lang="en" dir="ltr">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<base href="${BOARD_PATH}/">
<title>Queues · Plimsoll</title>
<link rel="icon" href="/assets/mark.svg" type="image/svg+xml">
${styles.map(([, path]) => `<link rel="stylesheet" href="${path}">`).join('\n')}
</head>
<body>
<script id="__UI_CONFIG__" type="application/json">${json}</script>
<div id="root"><noscript>This view of the jobs needs JavaScript. <a href="/">The number of jobs in each queue</a> does not.</noscript></div>
${scripts.map(([, path]) => `<script defer src="${path}"></script>`).join('\n')}
</body>
</html>
`
}

async function answerRead(
  { store, clock }: WebDeps,
  answer: QueueBoardRoutes['reads'][number]['answer'],
  { params, query }: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  await requireRedis(store)
  const reading = answer(params as Record<string, string>, query as Record<string, string>)
  const { status, body } = await within(TIMEOUT_MS, reading, clock)
  return reply.code(status).type('application/json; charset=utf-8').send(JSON.stringify(body))
}

async function within<T>(ms: number, work: Promise<T>, clock: Clock): Promise<T> {
  const ended = new AbortController()
  const late = clock.wait(ms, ended.signal).then(() => {
    throw redisAway()
  })
  try {
    return await Promise.race([work, late])
  } finally {
    ended.abort()
    late.catch(() => undefined)
  }
}

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
}

/** Each by its name, and nothing else that an address might lead to. */
function serveFiles(app: FastifyInstance, { folder, names }: QueueBoardRoutes['files']): void {
  for (const name of names.map((one) => one.replaceAll('\\', '/'))) {
    const type = TYPES[extname(name)]
    if (type === undefined) continue
    app.get(`${BOARD_PATH}/static/${name}`, async (_request, reply) =>
      reply
        .type(type)
        .header('cache-control', 'private, max-age=3600')
        .send(readFileSync(join(folder, name))),
    )
  }
}
