/** Redis is there and answers questions, and takes no write: out of memory, a replica, a full disk, too few replicas. */
export function refusesWrites(error: unknown): boolean {
  return error instanceof Error && /^(OOM|READONLY|MISCONF|NOREPLICAS) /.test(error.message)
}
