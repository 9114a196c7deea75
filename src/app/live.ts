/**
 * Plain values that are read anew at each access, for parts that got them once and go on while the config changes.
 * Not for objects with a state of their own.
 */
export function live<T extends object>(read: () => T): T {
  return new Proxy({} as T, {
    get: (_, name) => Reflect.get(read(), name),
    has: (_, name) => Reflect.has(read(), name),
    ownKeys: () => Reflect.ownKeys(read()),
    getOwnPropertyDescriptor: (_, name) => {
      const found = Reflect.getOwnPropertyDescriptor(read(), name)
      // A proxy may show nothing as fixed that its own target doesn't have.
      return found === undefined ? undefined : { ...found, configurable: true }
    },
  })
}
