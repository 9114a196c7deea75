--!include ledger-step
-- A delivery that was given up is on its way again, under its id, as if it were new.
-- KEYS: ledger. ARGV: id, now. Returns 'replayed' | 'lost' (it is not dead any more).
local id, now = ARGV[1], ARGV[2]
local KEY = deliveryKey(id)

if redis.call('HGET', KEY, 'state') ~= 'dead' then return 'lost' end
redis.call('HDEL', KEY, 'state', 'endedAt')
redis.call('HSET', KEY, 'createdAt', now, 'attempts', 0)
redis.call('ZREM', DEAD, id)
redis.call('ZADD', DELIVERIES_DUE, now, id)
settle(words(redis.call('HGET', KEY, 'transitions') or ''), 'dead', 'pending', '', now)
return 'replayed'
