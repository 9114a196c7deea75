-- Takes a delivery for one attempt: nobody else gets it until the attempt is recorded or handed back, or the claim ends
-- because whoever had it died.
-- KEYS: delivery, deliveries due. ARGV: id, now, how long the attempt may take (ms).
-- Returns the fields of the delivery, {} where there is nothing to send, or 'held'.
local id, now, claim = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local fields = redis.call('HGETALL', KEYS[1])
local known = redis.call('HMGET', KEYS[1], 'message', 'state', 'heldUntil')
if not known[1] or known[2] then
  redis.call('ZREM', KEYS[2], id)
  return {}
end
if known[3] and tonumber(known[3]) > now and tonumber(known[3]) <= now + claim then return 'held' end
redis.call('HSET', KEYS[1], 'heldUntil', now + claim)
redis.call('ZADD', KEYS[2], now + claim, id)
return fields
