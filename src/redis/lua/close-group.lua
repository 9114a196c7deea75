-- Closes a group: what waited becomes deliveries. Two workers that close the same group make one set of them.
-- KEYS: group, state of the group, groups due, deliveries due, then one key per delivery.
-- ARGV: group, times it was closed as read, alerts taken, now, when the rest closes, interval (ms), then id, receiver and
--   message (JSON) of each delivery.
-- Returns 'closed' | 'lost'.
local group, closed, taken, now, rest = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]

if (redis.call('HGET', KEYS[2], 'closed') or '0') ~= closed then return 'lost' end
redis.call('LTRIM', KEYS[1], taken, -1)
if redis.call('LLEN', KEYS[1]) > 0 then redis.call('ZADD', KEYS[3], rest, group)
else redis.call('ZREM', KEYS[3], group) end
redis.call('HSET', KEYS[2], 'closed', closed + 1, 'closedAt', now)
-- A group that was quiet for long is as good as new.
redis.call('PEXPIRE', KEYS[2], ARGV[6] * 2 + 86400000)
for n = 5, #KEYS do
  local id, receiver, message = ARGV[7 + (n - 5) * 3], ARGV[8 + (n - 5) * 3], ARGV[9 + (n - 5) * 3]
  redis.call('HSET', KEYS[n], 'receiver', receiver, 'message', message, 'createdAt', now, 'attempts', 0)
  redis.call('ZADD', KEYS[4], now, id)
end
return 'closed'
