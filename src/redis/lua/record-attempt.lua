--!include note-attempt
-- What came of one attempt to deliver. Recorded after sending, never before: a crash in between sends a second copy with
-- the same id rather than none.
-- KEYS: delivery, deliveries due, log, receiver. ARGV: id, now, 'delivered' | 'retry' | 'dead', next attempt ('' = none),
--   reason, receiver, type, how long a dead one is kept (ms), how long it took (ms, '' = nothing was tried), what was
--   answered ('' = nothing).
local id, now, outcome, nextAt, reason = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

if redis.call('EXISTS', KEYS[1]) == 0 then return 'unknown' end
local attempts = redis.call('HINCRBY', KEYS[1], 'attempts', 1)
redis.call('HDEL', KEYS[1], 'heldUntil')
noteAttempt(KEYS[3], KEYS[4], { at = now, id = id, receiver = ARGV[6], type = ARGV[7], attempt = attempts,
  outcome = outcome, reason = reason, nextAt = nextAt, ms = ARGV[9], answer = ARGV[10] })
if outcome == 'retry' then
  redis.call('HSET', KEYS[1], 'lastReason', reason)
  redis.call('ZADD', KEYS[2], nextAt, id)
else
  redis.call('ZREM', KEYS[2], id)
  if outcome == 'delivered' then redis.call('DEL', KEYS[1])
  else
    redis.call('HSET', KEYS[1], 'state', 'dead', 'lastReason', reason)
    redis.call('PEXPIRE', KEYS[1], ARGV[8])
  end
end
return 'recorded'
