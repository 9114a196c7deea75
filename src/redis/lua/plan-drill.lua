-- Puts a test message on its way to a receiver that has delivered nothing for long, once for the whole fleet.
-- KEYS: receiver, deliveries due, delivery. ARGV: now, after how long (ms), delivery id, receiver, message (JSON).
-- Returns 'planned' | 'not-due'.
local now, newest = tonumber(ARGV[1]), 0

for _, at in ipairs(redis.call('HMGET', KEYS[1], 'seenAt', 'lastDeliveredAt', 'drilledAt')) do
  if at then newest = math.max(newest, tonumber(at)) end
end
if newest == 0 or now - newest < tonumber(ARGV[2]) then return 'not-due' end
redis.call('HSET', KEYS[1], 'drilledAt', now)
redis.call('HSET', KEYS[3], 'receiver', ARGV[4], 'type', 'alert.test', 'message', ARGV[5], 'createdAt', now, 'attempts', 0)
redis.call('ZADD', KEYS[2], now, ARGV[3])
return 'planned'
