/**
 * Work that is asked for, once at a time. However often it is asked for while it is under way, it is done once more after
 * that: what it reads then is what counts. It must not throw.
 */
export function inTurn(work: () => Promise<void>): () => void {
  let isUnderWay = false
  let isAskedAgain = false
  const run = async () => {
    isUnderWay = true
    do {
      isAskedAgain = false
      await work()
    } while (isAskedAgain)
    isUnderWay = false
  }
  return () => {
    if (isUnderWay) isAskedAgain = true
    else void run()
  }
}
