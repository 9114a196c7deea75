/** Does it now and then, never twice at once, until the returned function is called. What fails is done again the next time. */
export function nowAndThen(work: () => Promise<void>, everyMs: number): () => void {
  let isUnderWay = false
  const timer = setInterval(async () => {
    if (isUnderWay) return
    isUnderWay = true
    await work().catch(() => undefined)
    isUnderWay = false
  }, everyMs)
  return () => clearInterval(timer)
}
