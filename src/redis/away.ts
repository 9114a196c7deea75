const ERROR_NAMES = new Set(['MaxRetriesPerRequestError', 'ClusterAllFailedError', 'AbortError'])
const ERROR_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'])
const CUT_OFF = /^(Command timed out|Connection is closed|Stream isn't writeable)/
/** Redis before 7 puts what a step was refused with behind words of its own. */
const OF_A_STEP = '(?:ERR Error running script .*?-)?'
/** Not there yet, in another one's place, busy with a client's script; or a rekey has closed the key that our config names first. */
const NOT_NOW = new RegExp(`^${OF_A_STEP}(LOADING|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|BUSY|KEYCLOSED) `)
const REFUSES_WRITES = new RegExp(`^${OF_A_STEP}(OOM|READONLY|MISCONF|NOREPLICAS) `)

/** Redis can't be reached, or does not do its work for now: the same call is worth another try, and is no fault of ours. */
export function isRedisAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code = '', syscall } = error as NodeJS.ErrnoException
  // A file of ours that is missing is our fault; a socket that is missing is a Redis that is away.
  if (code === 'ENOENT' && syscall !== 'connect') return false
  if (ERROR_NAMES.has(error.name) || ERROR_CODES.has(code)) return true
  return causesOf(error).every(({ message }) => [CUT_OFF, NOT_NOW, REFUSES_WRITES].some((words) => words.test(message)))
}

/** Redis is there and answers questions, and takes no write: out of memory, a replica, a full disk, too few replicas. */
export function refusesWrites(error: unknown): error is Error {
  return error instanceof Error && causesOf(error).every(({ message }) => REFUSES_WRITES.test(message))
}

/** A transaction is given up with a word that has no reason (EXECABORT): those of its commands that were refused have it. */
function causesOf(error: Error): Error[] {
  const { previousErrors = [] } = error as { previousErrors?: Error[] }
  return previousErrors.length > 0 ? previousErrors : [error]
}
