import { CallError, createHttpClient } from '../provider/http.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

const NAME = 'public-url'
const TIMEOUT_MS = 4_000
const MAX_ANSWER_BYTES = 1_000_000
const CLOSE =
  'Plimsoll answers 401 there: check that http.publicUrl leads to it, and that no proxy adds an admin token or a session'

/**
 * Whether what customers and the provider are sent to leads to this daemon, and shows no accounts without a token. It may not be up, or
 * not be reachable from here.
 */
export async function checkPublicUrl(publicUrl: string): Promise<Finding> {
  const probe = `${publicUrl}/healthz`
  const fix = 'start the daemon; check http.publicUrl, http.listen and the reverse proxy in front of it'
  const limits = { timeoutMs: TIMEOUT_MS, connections: 1, maxAnswerBytes: MAX_ANSWER_BYTES }
  const http = createHttpClient({ baseUrl: publicUrl, ...limits })
  try {
    const accounts = await http.send({ method: 'GET', path: '/accounts', headers: {} })
    if (accounts.status === 200) return fail(NAME, `${publicUrl}/accounts answers 200 without a token`, CLOSE)
    const { status, body } = await http.send({
      method: 'GET',
      path: '/healthz',
      headers: { accept: 'application/json' },
    })
    if (!isHealth(body)) return warn(NAME, `${probe} answers ${status}, but not as Plimsoll does`, fix)
    if (status === 200) return ok(NAME, `${probe} answers, and /accounts asks who is there`)
    return warn(NAME, `${probe} answers ${status}: work does not move on`, 'it names what does not move; see the log')
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    return warn(NAME, `${probe}: ${error.message}`, fix)
  } finally {
    await http.close()
  }
}

function isHealth(body: Buffer): boolean {
  try {
    const health: unknown = JSON.parse(body.toString('utf8'))
    return typeof health === 'object' && health !== null && 'alive' in health
  } catch {
    return false
  }
}
