import { afterEach, expect, test } from 'vitest'
import { openReads, READ_PATHS } from '../../jobs/queue-board.ts'
import { createQueues, type Queues } from '../../jobs/queues.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
let queues: Queues

afterEach(() => queues.close())

test('the server has a route for each read of the board, and for no more than these', async () => {
  queues = createQueues(redis.store, redis.freshKeys().queues, new HandClock(), logLines().log)
  expect([...(await openReads(queues)).answers.keys()].sort()).toEqual([...READ_PATHS].sort())
})
