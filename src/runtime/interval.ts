/** Repeats it at an interval, never twice at once, until the returned function is called. A failure is tried again at the next one. */
export function atInterval(work: () => Promise<void>, everyMs: number): () => void {
  let isUnderWay = false
  const timer = setInterval(async () => {
    if (isUnderWay) return
    isUnderWay = true
    await work().catch(() => undefined)
    isUnderWay = false
  }, everyMs)
  return () => clearInterval(timer)
}
