-- Moves the moment of a receiver's next digest; the one that was due goes on its way in the same step, so that each moment
-- has one digest, whoever dies when, and however many look at once.
-- KEYS: digests due, the receiver's digest, deliveries due, then the delivery's key if one is made.
-- ARGV: receiver, its moment as it was read ('' = none), its next moment ('' = none any more), schedule, and of a delivery:
--   what the next digest is compared with, now, id, message (JSON).
-- Returns 'moved' | 'lost'.
local receiver, read, nextAt, schedule = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if tonumber(redis.call('ZSCORE', KEYS[1], receiver) or '') ~= tonumber(read) then return 'lost' end
if nextAt == '' then
  redis.call('ZREM', KEYS[1], receiver)
  redis.call('DEL', KEYS[2])
  return 'moved'
end
redis.call('ZADD', KEYS[1], nextAt, receiver)
redis.call('HSET', KEYS[2], 'schedule', schedule)
if KEYS[4] then
  local told, now, id, message = ARGV[5], ARGV[6], ARGV[7], ARGV[8]
  redis.call('HSET', KEYS[2], 'told', told)
  -- It carries no transition: each was told, or is, by a delivery of its own.
  redis.call('HSET', KEYS[4], 'receiver', receiver, 'type', 'alert.digest', 'message', message, 'transitions', '',
    'createdAt', now, 'attempts', 0)
  redis.call('ZADD', KEYS[3], now, id)
end
return 'moved'
