interface Version<T> {
  value: T
  users: number
  retire: (() => void) | undefined
}

/** What is in force now. Work that has begun goes on with what was in force then, to its end: never with a mixture. */
export class InForce<T> {
  #now: Version<T>

  constructor(value: T) {
    this.#now = { value, users: 0, retire: undefined }
  }

  get value(): T {
    return this.#now.value
  }

  async run<R>(work: (value: T) => Promise<R>): Promise<R> {
    const version = this.#now
    version.users++
    try {
      return await work(version.value)
    } finally {
      version.users--
      if (version.users === 0) version.retire?.()
    }
  }

  /** Resolves once no job works with what was in force before. */
  replace(value: T): Promise<void> {
    const before = this.#now
    this.#now = { value, users: 0, retire: undefined }
    if (before.users === 0) return Promise.resolve()
    return new Promise((resolve) => {
      before.retire = resolve
    })
  }
}
