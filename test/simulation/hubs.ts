/** The accounts of a run, in partitions of their own. */
export const HUBS = [65, 130]
