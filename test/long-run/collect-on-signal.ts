/** Loaded into the daemon before it starts: at SIGUSR2 it throws away what nobody needs, so that what is left can be measured. */
process.on('SIGUSR2', () => globalThis.gc?.())
