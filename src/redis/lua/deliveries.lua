-- Messages on their way to receivers.

--!step beginAttempt
-- Takes a delivery for one attempt: nobody else gets it until the attempt is recorded or handed back, or the claim ends
-- because whoever had it died. What showed its alerts before goes first, unless it was tried already, or the claim on it
-- should have ended long ago: a receiver is not to hear that an alert is over before it hears of it.
-- KEYS: delivery, deliveries due. ARGV: id, now, how long the attempt may take (ms), when to look again (ms).
-- Returns the fields of the delivery, {} where there is nothing to send, 'held', or 'behind'.
local id, now, claim = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local function isOnItsWay(other)
  local found = redis.call('HMGET', string.sub(KEYS[1], 1, -#id - 1) .. other, 'message', 'state', 'heldUntil', 'attempts')
  if not found[1] or found[2] then return false end
  return found[4] == '0' or (found[3] and tonumber(found[3]) > now)
end

local fields = redis.call('HGETALL', KEYS[1])
local known = redis.call('HMGET', KEYS[1], 'message', 'state', 'heldUntil', 'after', 'createdAt', 'attempts')
if not known[1] or known[2] then
  redis.call('ZREM', KEYS[2], id)
  return {}
end
if known[3] and tonumber(known[3]) > now and tonumber(known[3]) <= now + claim then return 'held' end
local waited = now - tonumber(known[5] or '0')
if known[6] == '0' and waited >= 0 and waited < 2 * claim then
  for other in string.gmatch(known[4] or '', '%S+') do
    if isOnItsWay(other) then
      redis.call('ZADD', KEYS[2], ARGV[4], id)
      return 'behind'
    end
  end
end
redis.call('HSET', KEYS[1], 'heldUntil', now + claim)
redis.call('ZADD', KEYS[2], now + claim, id)
return fields

--!step handBackDelivery
-- A delivery that was taken but not tried: due again, for whoever is first.
-- KEYS: delivery, deliveries due. ARGV: id, when.
redis.call('HDEL', KEYS[1], 'heldUntil')
return redis.call('ZADD', KEYS[2], 'XX', ARGV[2], ARGV[1])

--!step recordAttempt
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

--!step recordTest
--!include note-attempt
-- What came of a test that somebody asked for. It is not tried again; one that arrived enables the receiver.
-- KEYS: log, receiver, disabled receivers. ARGV: now, id, receiver, 'delivered' | 'failed', reason, how long it took (ms),
--   what was answered ('' = nothing). Returns 'recorded' | 'enabled'.
noteAttempt(KEYS[1], KEYS[2], { at = ARGV[1], id = ARGV[2], receiver = ARGV[3], type = 'alert.test', attempt = 1,
  outcome = ARGV[4], reason = ARGV[5], ms = ARGV[6], answer = ARGV[7] })
if ARGV[4] == 'delivered' and redis.call('HDEL', KEYS[3], ARGV[3]) == 1 then return 'enabled' end
return 'recorded'

--!step replayDelivery
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

--!step forgetDelivery
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

--!step planDrill
-- Puts a test message on its way to a receiver that has delivered nothing for long, once for the whole fleet.
-- KEYS: receiver, deliveries due, delivery. ARGV: now, after how long (ms), delivery id, receiver, message (JSON).
-- Returns 'planned' | 'not-due'.
local now, newest = tonumber(ARGV[1]), 0

for _, name in ipairs({ 'seenAt', 'lastDeliveredAt', 'drilledAt' }) do
  local at = tonumber(redis.call('HGET', KEYS[1], name) or '0')
  if at > now then
    -- By a clock that was ahead.
    redis.call('HSET', KEYS[1], name, now)
    at = now
  end
  newest = math.max(newest, at)
end
if newest == 0 or now - newest < tonumber(ARGV[2]) then return 'not-due' end
redis.call('HSET', KEYS[1], 'drilledAt', now)
redis.call('HSET', KEYS[3], 'receiver', ARGV[4], 'type', 'alert.test', 'message', ARGV[5], 'createdAt', now, 'attempts', 0)
redis.call('ZADD', KEYS[2], now, ARGV[3])
return 'planned'

--!step enableReceivers
-- Gives receivers that are switched off another chance; how such a one fared before says nothing about it.
-- KEYS: disabled receivers. ARGV: what the keys of receivers start with, which are of the same slot; names of receivers.
for n = 2, #ARGV do
  if redis.call('HDEL', KEYS[1], ARGV[n]) == 1 then
    redis.call('HDEL', ARGV[1] .. ARGV[n], 'failingSince', 'failures', 'lastReason')
  end
end
return 0

--!step moveDigest
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

--!step readLedger
--!include ledger-step
-- How the ledger stands at one moment. Reads only.
-- KEYS: ledger. Returns { counts, transitions that have not ended, the oldest that somebody waits for with its moment,
-- the earliest moment a group closes or '', the earliest moment a delivery is tried or '', transitions that are waited for }.
return { redis.call('HGETALL', COUNTS),
  redis.call('HLEN', LEDGER), redis.call('ZRANGE', PENDING, 0, 0, 'WITHSCORES'),
  redis.call('ZRANGE', GROUPS_DUE, 0, 0, 'WITHSCORES')[2] or '', redis.call('ZRANGE', DELIVERIES_DUE, 0, 0, 'WITHSCORES')[2] or '',
  redis.call('ZCARD', PENDING) }
