import { type SentinelConnectionOptions, SentinelConnector } from 'ioredis'

/**
 * Asks the sentinels for the master, and follows a switch that they report. SentinelConnector of ioredis goes on listening
 * while it connects anew. A switch reported just then ends the connection for good, and drops the commands that wait.
 */
export class SteadySentinelConnector extends SentinelConnector {
  /** `options`: those of the connection, which ioredis hands on without their type. */
  constructor(options: unknown) {
    super(options as SentinelConnectionOptions)
  }

  override connect(...asked: Parameters<SentinelConnector['connect']>): ReturnType<SentinelConnector['connect']> {
    // The sentinels are asked for the master anyway. Ends the listening, and what is left of the connection before.
    this.disconnect()
    return super.connect(...asked)
  }
}
