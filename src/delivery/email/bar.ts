/** A bar of fullness in hundredths of its width. What is over the limit moves the limit's mark in from the end. */
export interface Bar {
  /** Up to the limit. */
  filled: number
  /** Beyond the limit. */
  over: number
  empty: number
}

/** Full only at 100 %, empty only at 0; over only where something is over. */
export function barOf(percent: number, width = 100): Bar {
  if (percent > 100) {
    const filled = Math.min(width - 1, Math.max(1, Math.floor((100 / percent) * width)))
    return { filled, over: width - filled, empty: 0 }
  }
  const filled = percent > 0 ? Math.max(1, Math.floor((percent / 100) * width)) : 0
  return { filled, over: 0, empty: width - filled }
}
