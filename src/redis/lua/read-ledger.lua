--!include ledger-step
-- How the ledger stands at one moment. Reads only.
-- KEYS: ledger. Returns { counts, transitions that have not ended, the oldest that somebody waits for with its moment,
-- the earliest moment a group closes or '', the earliest moment a delivery is tried or '', transitions that are waited for }.
return { redis.call('HGETALL', COUNTS),
  redis.call('HLEN', LEDGER), redis.call('ZRANGE', PENDING, 0, 0, 'WITHSCORES'),
  redis.call('ZRANGE', GROUPS_DUE, 0, 0, 'WITHSCORES')[2] or '', redis.call('ZRANGE', DELIVERIES_DUE, 0, 0, 'WITHSCORES')[2] or '',
  redis.call('ZCARD', PENDING) }
