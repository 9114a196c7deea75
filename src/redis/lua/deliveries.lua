-- Messages on their way to receivers.

--!step beginAttempt
--!include delivery-step
--!include note-attempt
-- Takes a delivery for one attempt: no other caller gets it until the attempt is recorded or handed back, or the claim ends
-- because its daemon died. Those before it in its lines go first: one that is under way is waited for, one that was not tried
-- yet for two claims at most. From the first attempt on an earlier one must never be sent: an attempt that fails may
-- have arrived, and its next copy is passed over by receivers that know its id. So what earlier ones carry of these alerts, on
-- their way or given up, goes along with this one. An event, or an acknowledgement, waits for all before it.
-- A receiver that asked for a pause gets nothing before that is over, but the last attempt.
-- KEYS: deliveries due. ARGV: id, now, how long the attempt may take (ms), next check (ms), how long it may wait between all its
--   attempts (ms), next check of a receiver that asked for more time than that (ms).
-- Returns the fields of the delivery, {} where there is nothing to send, 'held', or when it is due again (ms).
local id, now, claim, soon, latest = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[6])
local KEY = deliveryKey(id)

local known = redis.call('HMGET', KEY, 'message', 'state', 'heldUntil', 'createdAt', 'attempts', 'receiver', 'about', 'waitedMs')
if not isOnItsWay(known[1], known[2]) then
  redis.call('ZREM', DELIVERIES_DUE, id)
  return {}
end
-- No attempt is held for longer: the clock was set back since.
local function isUnderWay(heldUntil)
  return heldUntil and tonumber(heldUntil) > now and tonumber(heldUntil) < now + 2 * claim
end
if isUnderWay(known[3]) then return 'held' end

local function waitUntil(at)
  redis.call('ZADD', DELIVERIES_DUE, at, id)
  return at
end

local paused = tonumber(redis.call('HGET', receiverKey(known[6]), 'pausedUntil') or '0')
local till = math.min(paused, now + tonumber(ARGV[5]) - (known[8] or 0), latest)
if till > now then
  redis.call('HINCRBY', KEY, 'waitedMs', till - now)
  return waitUntil(till)
end

-- Subjects of each earlier delivery that are also of this one. A digest goes before nothing but digests.
local isDigest, earlier = redis.call('HEXISTS', KEY, 'shows') == 1, {}
for _, subject in ipairs(subjectsOf(id)) do
  local before, isIn = {}, false
  for _, other in ipairs(redis.call('LRANGE', lineKey(known[6], subject), 0, -1)) do
    isIn = isIn or other == id
    if not isIn then before[#before + 1] = other end
  end
  if isIn and (not isDigest or subject == 'digest') then
    for _, other in ipairs(before) do
      earlier[other] = earlier[other] or {}
      table.insert(earlier[other], subject)
    end
  end
end

local mayWait = known[5] == '0' and now - tonumber(known[4] or '0') < 2 * claim
for other in pairs(earlier) do
  local found = redis.call('HMGET', deliveryKey(other), 'message', 'state', 'heldUntil', 'attempts', 'shows')
  if isOnItsWay(found[1], found[2]) then
    if isUnderWay(found[3]) or (mayWait and found[4] == '0' and not found[5]) then return waitUntil(soon) end
    if known[7] then
      local due = tonumber(redis.call('ZSCORE', DELIVERIES_DUE, other) or '0')
      return waitUntil(math.min(math.max(due, soon), latest))
    end
  end
end

-- Transitions that this one takes from earlier ones, which keep the rest. Only a newer digest has all that a digest says.
local taken = {}
for other, subjects in pairs(known[7] and {} or earlier) do
  local found, mine, kept = redis.call('HMGET', deliveryKey(other), 'message', 'shows', 'transitions'), {}, {}
  for _, subject in ipairs(subjects) do mine[subject] = true end
  local field = found[2] and 'shows' or 'transitions'
  for _, one in ipairs(found[1] and not mine.digest and words(found[2] or found[3] or '') or {}) do
    if not mine[alertOf(one)] then kept[#kept + 1] = one elseif field == 'transitions' then taken[#taken + 1] = one end
  end
  leaveLines(other, known[6], subjects)
  if #kept > 0 or (found[2] and not mine.digest) then redis.call('HSET', deliveryKey(other), field, table.concat(kept, ' '), 'changed', 1)
  elseif found[1] then
    local of = redis.call('HMGET', deliveryKey(other), 'type', 'attempts')
    noteAttempt(ATTEMPTS, '', { at = now, id = other, receiver = known[6], type = of[1], attempt = of[2], outcome = 'overtaken',
      reason = 'a newer message has all that it had: ' .. id, ms = '' })
    leaveLines(other, known[6], subjectsOf(other))
    redis.call('DEL', deliveryKey(other))
    for _, set in ipairs({ UNDER_WAY, DELIVERIES_DUE, DEAD }) do redis.call('ZREM', set, other) end
  end
end
if #taken > 0 then
  redis.call('HSET', KEY, 'transitions', table.concat(taken, ' ') .. ' ' .. redis.call('HGET', KEY, 'transitions'), 'changed', 1)
end
redis.call('HSET', KEY, 'heldUntil', now + claim)
redis.call('ZADD', DELIVERIES_DUE, now + claim, id)
return redis.call('HGETALL', KEY)

--!step recordAttempt
--!include delivery-step
--!include note-attempt
-- Records the outcome of one attempt to deliver, and so of the transitions that it carries. After sending, never
-- before: a crash in between sends a second copy with the same id rather than none. A head of an arrived delivery is
-- kept. The config may have another address by now: the old one's answer says nothing about that, which is tried as
-- well.
-- KEYS: deliveries due. ARGV: id, now, 'delivered' | 'retry' | 'dead' | 'refused' (its address wants no more) | 'waits' (the receiver is
--   switched off, and what is on its way waits), next attempt ('' = none),
--   reason, receiver, type, how long the head is kept (ms), how long it took (ms, '' = nothing was tried), what was answered
--   ('' = nothing), mark of the address that was asked ('' = not known), until when it asked to be left alone (ms, '' = it did not),
--   recipients that the next attempt is for (JSON, '' = all), recipients of this one (JSON, '' = not known).
-- Returns 'recorded' | 'unknown' | 'acknowledged' (so is an alert of it: that may be sent now) | 'moved' (it wants no more, but is not the address any more: tried again) | 'disabled' |
--   'refused' (the far side refuses a recipient that it did not refuse before).
local id, now, outcome, nextAt, reason, kept = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[8])
local receiver, asked = ARGV[6], ARGV[11]
local KEY = deliveryKey(id)

if redis.call('EXISTS', KEY) == 0 then return 'unknown' end
local address = redis.call('HGET', receiverKey(receiver), 'address') or asked
local isElsewhere, answer = asked ~= '' and asked ~= address, 'recorded'
if outcome == 'refused' and isElsewhere then outcome, answer = 'retry', 'moved' end
if outcome == 'waits' then
  outcome = 'retry'
  if not isElsewhere and redis.call('HSETNX', DISABLED, receiver, reason) == 1 then answer = 'disabled' end
end
if outcome == 'refused' then
  outcome = 'dead'
  redis.call('HSET', KEY, 'refusedBy', address)
  if redis.call('HSETNX', DISABLED, receiver, reason) == 1 then answer = 'disabled' end
end
local attempts = redis.call('HINCRBY', KEY, 'attempts', 1)
redis.call('HDEL', KEY, 'heldUntil')
noteAttempt(ATTEMPTS, receiverKey(receiver), { at = now, id = id, receiver = receiver, type = ARGV[7], attempt = attempts,
  outcome = outcome, reason = reason, nextAt = outcome == 'retry' and nextAt or '', ms = ARGV[9], answer = ARGV[10],
  isElsewhere = isElsewhere, recipients = ARGV[14] })
if not isElsewhere and noteRecipients(receiverKey(receiver), ARGV[14]) and answer == 'recorded' then answer = 'refused' end
if ARGV[12] ~= '' and not isElsewhere then
  redis.call('HSET', receiverKey(receiver), 'pausedAt', now, 'pausedUntil', ARGV[12])
end
-- Two workers may have tried at once: that it arrived outdoes all else, and nothing undoes an end but that.
local state = redis.call('HGET', KEY, 'state') or 'pending'
if state == 'delivered' or (state == 'dead' and outcome ~= 'delivered') then return answer end
if ARGV[13] ~= '' then redis.call('HSET', KEY, 'left', ARGV[13]) end
if outcome == 'retry' then
  redis.call('HSET', KEY, 'lastReason', reason)
  redis.call('HINCRBY', KEY, 'waitedMs', math.max(0, nextAt - now))
  redis.call('ZADD', DELIVERIES_DUE, nextAt, id)
  return answer
end
redis.call('ZREM', DELIVERIES_DUE, id)
redis.call('ZREM', UNDER_WAY, id)
-- An acknowledgement waits for all that is on its way of its alert: also for a digest, or an earlier acknowledgement.
for _, subject in ipairs(redis.call('EXISTS', ACKNOWLEDGED) == 1 and subjectsOf(id) or {}) do
  if redis.call('HEXISTS', ACKNOWLEDGED, subject) == 1 then
    redis.call('ZADD', ACKNOWLEDGEMENTS_DUE, 0, subject)
    if answer == 'recorded' then answer = 'acknowledged' end
  end
end
redis.call('HSET', KEY, 'state', outcome, 'endedAt', now, 'lastReason', reason)
if outcome == 'delivered' then
  leaveLines(id, receiver, subjectsOf(id))
  redis.call('HDEL', KEY, 'message')
  redis.call('PEXPIRE', KEY, kept)
  redis.call('ZREM', DEAD, id)
  redis.call('ZADD', DELIVERED, now, id)
  redis.call('ZREMRANGEBYSCORE', DELIVERED, '-inf', now - kept)
else redis.call('ZADD', DEAD, now, id) end
return answer

--!step recordTest
--!include note-attempt
-- Records the outcome of a test. It is not tried again; one that arrived enables the receiver, and ends its pause.
-- KEYS: log, receiver, disabled receivers. ARGV: now, id, receiver, 'delivered' | 'failed', reason, how long it took (ms),
--   what was answered ('' = nothing), recipients (JSON, '' = not known). Returns 'recorded' | 'enabled'.
noteAttempt(KEYS[1], KEYS[2], { at = ARGV[1], id = ARGV[2], receiver = ARGV[3], type = 'alert.test', attempt = 1,
  outcome = ARGV[4], reason = ARGV[5], ms = ARGV[6], answer = ARGV[7], recipients = ARGV[8] })
noteRecipients(KEYS[2], ARGV[8])
if ARGV[4] ~= 'delivered' then return 'recorded' end
redis.call('HDEL', KEYS[2], 'pausedAt', 'pausedUntil')
return redis.call('HDEL', KEYS[3], ARGV[3]) == 1 and 'enabled' or 'recorded'

--!step replayDelivery
--!include delivery-step
-- A delivery that was given up is on its way again, under its id, as if it were new.
-- KEYS: deliveries due. ARGV: id, now. Returns 'replayed' | 'lost' (it is not dead any more).
local id, now = ARGV[1], ARGV[2]
local KEY = deliveryKey(id)

if redis.call('HGET', KEY, 'state') ~= 'dead' then return 'lost' end
redis.call('HDEL', KEY, 'state', 'endedAt', 'refusedBy', 'waitedMs')
redis.call('HSET', KEY, 'createdAt', now, 'attempts', 0)
redis.call('ZREM', DEAD, id)
redis.call('ZADD', DELIVERIES_DUE, now, id)
redis.call('ZADD', UNDER_WAY, now, id)
return 'replayed'

--!step forgetDelivery
--!include delivery-step
-- A delivery that was given up long ago, or whose receiver is gone: it can't be replayed any more.
-- KEYS: deliveries due. ARGV: id, 'dead' (only as long as it is that) | 'any'. Returns 'forgotten' | 'lost' (it is not dead any more).
local id = ARGV[1]

if redis.call('ZREM', DEAD, id) == 0 and ARGV[2] == 'dead' then return 'lost' end
redis.call('ZREM', DELIVERIES_DUE, id)
redis.call('ZREM', UNDER_WAY, id)
leaveLines(id, redis.call('HGET', deliveryKey(id), 'receiver') or '', subjectsOf(id))
redis.call('DEL', deliveryKey(id))
return 'forgotten'

--!step planReconnectMail
-- Puts a mail that asks to connect an account again on its way, once for all daemons in a while, and not while the one before is.
-- KEYS: the last such mail of the account, deliveries due, delivery. ARGV: now, least time between two (ms), delivery id, receiver,
--   message (JSON), how long to remember it (ms). Returns 'planned' | 'not-due'.
local now = tonumber(ARGV[1])
local last = redis.call('HMGET', KEYS[1], 'at', 'delivery')
local at = tonumber(last[1] or '')
if at and (now - at < tonumber(ARGV[2]) or redis.call('ZSCORE', KEYS[2], last[2])) then return 'not-due' end
redis.call('HSET', KEYS[1], 'at', now, 'delivery', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[6])
redis.call('HSET', KEYS[3], 'receiver', ARGV[4], 'type', 'account.reconnect', 'message', ARGV[5], 'createdAt', now, 'attempts', 0)
redis.call('ZADD', KEYS[2], now, ARGV[3])
return 'planned'

--!step enableReceivers
--!include delivery-step
-- Gives receivers another chance, at the addresses that they have now; how one that was switched off, or had another address,
-- fared before says nothing about it.
-- KEYS: deliveries due. ARGV: now, then of each: receiver, mark of its address ('' = not known).
for n = 2, #ARGV, 2 do
  redis.call('ZADD', RECEIVERS, ARGV[1], ARGV[n])
  local key = receiverKey(ARGV[n])
  local before = redis.call('HGET', key, 'address')
  local isOther = before and before ~= ARGV[n + 1]
  if ARGV[n + 1] ~= '' then redis.call('HSET', key, 'address', ARGV[n + 1]) end
  if redis.call('HDEL', DISABLED, ARGV[n]) == 1 or isOther then
    redis.call('HDEL', key, 'failingSince', 'failures', 'lastReason', 'pausedAt', 'pausedUntil')
  end
  -- The recipients may be others now.
  for _, field in ipairs(isOther and redis.call('HKEYS', key) or {}) do
    if string.sub(field, 1, 8) == 'refused:' then redis.call('HDEL', key, field) end
  end
end
return 0

--!step sendDigest
--!include delivery-step
-- A digest goes on its way in the step that notes it, so that each is sent once, whatever daemon dies, and however many run at once.
-- KEYS: deliveries due. ARGV: receiver, when its last one was made as it was read, now, id of the delivery, message (JSON), alerts that
--   it shows (with spaces between).
-- Returns 'sent' | 'lost' (another daemon made it, or it shows what is over: it is made anew).
local receiver, read, now, id, message, shows = unpack(ARGV)
if tonumber(redis.call('ZSCORE', DIGESTS_SENT, receiver) or '') ~= tonumber(read) then return 'lost' end
-- The message that says that an alert is over did not wait for a digest that was being made, and arrives before it. What has been over
-- for a minute was read as open all the same: a failover brought it back.
for _, alert in ipairs(words(shows)) do
  local endedAt = redis.call('ZSCORE', overKey(receiver), alert)
  if endedAt and tonumber(endedAt) > now - 60000 then return 'lost' end
end
redis.call('ZADD', DIGESTS_SENT, now, receiver)
-- A digest carries no transition: each has a delivery of its own. But it shows alerts as firing.
redis.call('HSET', deliveryKey(id), 'receiver', receiver, 'type', 'alert.digest', 'message', message, 'transitions', '',
  'createdAt', now, 'attempts', 0, 'shows', shows)
joinLines(id, receiver, subjectsOf(id))
redis.call('ZADD', DELIVERIES_DUE, now, id)
return 'sent'
