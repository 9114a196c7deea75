--!include ledger-step
--!include note-attempt
-- What came of one attempt to deliver, and so of the transitions that it carries. Recorded after sending, never before: a
-- crash in between sends a second copy with the same id rather than none. Of one that arrived a head is kept.
-- KEYS: ledger. ARGV: id, now, 'delivered' | 'retry' | 'dead', next attempt ('' = none), reason, receiver, type, how long
--   the head is kept (ms), how long it took (ms, '' = nothing was tried), what was answered ('' = nothing).
-- Returns 'recorded' | 'unknown'.
local id, now, outcome, nextAt, reason, kept = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[8])
local KEY = deliveryKey(id)

if redis.call('EXISTS', KEY) == 0 then return 'unknown' end
local attempts = redis.call('HINCRBY', KEY, 'attempts', 1)
redis.call('HDEL', KEY, 'heldUntil')
noteAttempt(ATTEMPTS, receiverKey(ARGV[6]), { at = now, id = id, receiver = ARGV[6], type = ARGV[7], attempt = attempts,
  outcome = outcome, reason = reason, nextAt = nextAt, ms = ARGV[9], answer = ARGV[10] })
-- Two workers may have tried at once: that it arrived outdoes all else, and nothing undoes an end but that.
local state = redis.call('HGET', KEY, 'state') or 'pending'
if state == 'delivered' or (state == 'dead' and outcome ~= 'delivered') then return 'recorded' end
if outcome == 'retry' then
  redis.call('HSET', KEY, 'lastReason', reason)
  redis.call('ZADD', DELIVERIES_DUE, nextAt, id)
  return 'recorded'
end
redis.call('ZREM', DELIVERIES_DUE, id)
settle(words(redis.call('HGET', KEY, 'transitions') or ''), state, outcome, reason, now)
redis.call('HSET', KEY, 'state', outcome, 'endedAt', now, 'lastReason', reason)
if outcome == 'delivered' then
  redis.call('HDEL', KEY, 'message')
  redis.call('PEXPIRE', KEY, kept)
  redis.call('ZREM', DEAD, id)
  redis.call('ZADD', DELIVERED, now, id)
  redis.call('ZREMRANGEBYSCORE', DELIVERED, '-inf', now - kept)
else redis.call('ZADD', DEAD, now, id) end
return 'recorded'
