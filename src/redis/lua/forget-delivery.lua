--!include ledger-step
-- A delivery that was given up long ago: it can't be replayed any more, and its transitions are dead for good.
-- KEYS: ledger. ARGV: id, now. Returns 'forgotten' | 'lost' (it is not dead any more).
local id, now = ARGV[1], ARGV[2]
local KEY = deliveryKey(id)

if redis.call('ZREM', DEAD, id) == 0 then return 'lost' end
local delivery = redis.call('HMGET', KEY, 'transitions', 'lastReason')
settle(words(delivery[1] or ''), 'dead', 'forgotten', delivery[2] or '', now)
redis.call('DEL', KEY)
return 'forgotten'
