-- Messages on their way to receivers.

--!step beginAttempt
--!include redis-now
--!include delivery-step
--!include note-attempt
-- Takes the first delivery that is due of a receiver, for whoever has claimed that, and is alone with it; the claim lasts anew from now.
-- Up to a few are sent at once, of different subjects. From its first attempt on no earlier message of an alert must ever be sent:
-- an attempt that fails may have arrived, and its next copy is passed over by receivers that know its id. So what earlier ones carry of
-- these alerts, on their way or given up, goes along with this one. An event, or an acknowledgement, waits for all before it.
-- KEYS: any. ARGV: receiver, the claim, how long it lasts (ms), then the deliveries of this receiver that are under way.
-- Returns 'lost' (the claim) | 'busy' (what is due waits for what is under way) | { when the next is due, '' = never }, and the claim is
--   over | { now, the claim, why it is switched off or '', id, the fields of the delivery }.
local receiver, claim, now = ARGV[1], tonumber(ARGV[2]), redisNow()
local PENDING = pendingKey(receiver)
if tonumber(redis.call('ZSCORE', RECEIVERS_DUE, receiver) or '') ~= claim then return 'lost' end

local isBusy, isUnderWay = {}, {}
for n = 4, #ARGV do
  isUnderWay[ARGV[n]] = true
  for _, subject in ipairs(subjectsOf(ARGV[n])) do isBusy[subject] = true end
end

-- Subjects of each earlier delivery that are also of this one; nil where one of them is under way. A digest goes before nothing but
-- digests.
local function earlierThan(id)
  local isDigest, earlier = redis.call('HEXISTS', deliveryKey(id), 'shows') == 1, {}
  for _, subject in ipairs(subjectsOf(id)) do
    if isBusy[subject] then return nil end
    for _, other in ipairs(isDigest and subject ~= 'digest' and {} or lineOf(receiver, subject)) do
      if other == id then break end
      earlier[other] = earlier[other] or {}
      table.insert(earlier[other], subject)
    end
  end
  return earlier
end

-- True for one that has to wait, until the one before it is due.
local function waits(id, earlier)
  if redis.call('HEXISTS', deliveryKey(id), 'about') == 0 then return false end
  for other in pairs(earlier) do
    local due = isOnItsWay(other) and tonumber(redis.call('ZSCORE', PENDING, other) or '')
    if due and due >= now + 1 then planAttempt(id, receiver, math.floor(due), math.floor(due)) end
    if due then return true end
  end
  return false
end

local function firstDue()
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', PENDING, '-inf', '(' .. now + 1, 'LIMIT', 0, CHUNK)) do
    local earlier = not isUnderWay[id] and earlierThan(id)
    if not isOnItsWay(id) then redis.call('ZREM', PENDING, id)
    elseif earlier and not waits(id, earlier) then return id, earlier end
  end
end

-- One after the other to a receiver that asked for a pause lately.
if #ARGV > 3 and notBefore(receiver, 0) > now - 60000 then return 'busy' end
local id, earlier = firstDue()
if not id and #ARGV > 3 then return 'busy' end
if not id then
  redis.call('ZREM', RECEIVERS_DUE, receiver)
  return { planReceiver(receiver) }
end

-- Transitions that this one takes from earlier ones, which keep the rest. Only a newer digest has all that a digest says.
local KEY, taken = deliveryKey(id), {}
for other, subjects in pairs(redis.call('HEXISTS', KEY, 'about') == 1 and {} or earlier) do
  local found, mine, kept = redis.call('HMGET', deliveryKey(other), 'message', 'shows', 'transitions'), {}, {}
  for _, subject in ipairs(subjects) do
    mine[subject] = true
    -- An acknowledgement that goes with it is sent behind this one, if it is still one.
    if redis.call('HEXISTS', ACKNOWLEDGED, subject) == 1 then redis.call('ZADD', ACKNOWLEDGEMENTS_DUE, now, subject) end
  end
  local field = found[2] and 'shows' or 'transitions'
  for _, one in ipairs(found[1] and not mine.digest and words(found[2] or found[3] or '') or {}) do
    if not mine[alertOf(one)] then kept[#kept + 1] = one elseif field == 'transitions' then taken[#taken + 1] = one end
  end
  leaveLines(other, receiver, subjects)
  if #kept > 0 or (found[2] and not mine.digest) then redis.call('HSET', deliveryKey(other), field, table.concat(kept, ' '), 'changed', 1)
  elseif found[1] then
    local of = redis.call('HMGET', deliveryKey(other), 'type', 'attempts')
    noteAttempt(ATTEMPTS, '', { at = now, id = other, receiver = receiver, type = of[1], attempt = of[2], outcome = 'overtaken',
      reason = 'a newer message has all that it had: ' .. id, ms = '' })
    leaveLines(other, receiver, subjectsOf(other))
    redis.call('DEL', deliveryKey(other))
    for _, set in ipairs({ UNDER_WAY, PENDING, DEAD }) do redis.call('ZREM', set, other) end
  end
end
if #taken > 0 then
  redis.call('HSET', KEY, 'transitions', table.concat(taken, ' ') .. ' ' .. redis.call('HGET', KEY, 'transitions'), 'changed', 1)
end
local renewed = string.format('%.17g', now + ARGV[3] + claim % 1)
redis.call('ZADD', RECEIVERS_DUE, renewed, receiver)
return { string.format('%.0f', now), renewed, redis.call('HGET', DISABLED, receiver) or '', id, unpack(redis.call('HGETALL', KEY)) }

--!step recordAttempt
--!include delivery-step
--!include note-attempt
-- Records the outcome of one attempt to deliver, and so of the transitions that it carries. After sending, never
-- before: a crash in between sends a second copy with the same id rather than none. A head of an arrived delivery is
-- kept. The config may have another address by now: the old one's answer says nothing about that, which is tried as
-- well.
-- KEYS: any. ARGV: id, now, 'delivered' | 'retry' | 'dead' | 'refused' (its address wants no more) | 'waits' (the receiver is
--   switched off, and what is on its way waits), next attempt ('' = none),
--   reason, receiver, type, how long the head is kept (ms), how long it took (ms, '' = nothing was tried), what was answered
--   ('' = nothing), mark of the address that was asked ('' = not known), until when it asked to be left alone (ms, '' = it did not),
--   how long a delivery is tried (ms), recipients that the next attempt is for (JSON, '' = all), recipients of this one (JSON, '' = not
--   known).
-- Returns 'recorded' | 'unknown' | 'moved' (it wants no more, but is not the address any more: tried again) | 'disabled' |
--   'refused' (the far side refuses a recipient that it did not refuse before).
local id, now, outcome, nextAt, reason, kept = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[8])
local receiver, asked = ARGV[6], ARGV[11]
local KEY = deliveryKey(id)

if redis.call('EXISTS', KEY) == 0 then return 'unknown' end
local address = redis.call('HGET', receiverKey(receiver), 'address') or asked
local isElsewhere, answer = asked ~= '' and asked ~= address, 'recorded'
-- The new address is tried soon: a daemon may have the old config for longer.
if isElsewhere and (outcome == 'refused' or outcome == 'waits') then outcome, answer, nextAt = 'retry', 'moved', now + 5000 end
if outcome == 'waits' then
  outcome = 'retry'
  if redis.call('HSETNX', DISABLED, receiver, reason) == 1 then answer = 'disabled' end
end
if outcome == 'refused' then
  outcome = 'dead'
  redis.call('HSET', KEY, 'refusedBy', address)
  if redis.call('HSETNX', DISABLED, receiver, reason) == 1 then answer = 'disabled' end
end
local attempts = redis.call('HINCRBY', KEY, 'attempts', 1)
noteAttempt(ATTEMPTS, receiverKey(receiver), { at = now, id = id, receiver = receiver, type = ARGV[7], attempt = attempts,
  outcome = outcome, reason = reason, nextAt = outcome == 'retry' and nextAt or '', ms = ARGV[9], answer = ARGV[10],
  isElsewhere = isElsewhere, recipients = ARGV[15] })
if not isElsewhere and noteRecipients(receiverKey(receiver), ARGV[15]) and answer == 'recorded' then answer = 'refused' end
-- All that waits has its next attempt after the pause; where its time is up before, its last.
local function planBehindPause(other, at)
  local from = math.max(math.floor(redis.call('ZSCORE', pendingKey(receiver), other) or 0), now)
  local ends = from + ARGV[13] - (redis.call('HGET', deliveryKey(other), 'waitedMs') or 0)
  planAttempt(other, receiver, now, math.max(at or from, math.min(notBefore(receiver, 0), ends)))
end
-- Several that are under way ask for the same pause, each a moment later: all that waits is planned anew for the first of them alone.
if ARGV[12] ~= '' and not isElsewhere and notBefore(receiver, 0) + 1000 < tonumber(ARGV[12]) then
  redis.call('HSET', receiverKey(receiver), 'pausedUntil', ARGV[12])
  for _, other in ipairs(redis.call('ZRANGEBYSCORE', pendingKey(receiver), '-inf', '(' .. ARGV[12])) do planBehindPause(other) end
end
-- A claim that was over may have let two try at once: that it arrived outdoes all else, and nothing undoes an end but that.
local state = redis.call('HGET', KEY, 'state') or 'pending'
if state == 'delivered' or (state == 'dead' and outcome ~= 'delivered') then return answer end
if ARGV[14] ~= '' then redis.call('HSET', KEY, 'left', ARGV[14]) end
if outcome == 'retry' then
  redis.call('HSET', KEY, 'lastReason', reason)
  planBehindPause(id, nextAt)
  return answer
end
redis.call('ZREM', pendingKey(receiver), id)
redis.call('ZREM', UNDER_WAY, id)
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
--!include delivery-step
--!include note-attempt
-- Records the outcome of a test. It is not tried again; one that arrived enables the receiver, and ends its pause.
-- KEYS: any. ARGV: now, id, receiver, 'delivered' | 'failed', reason, how long it took (ms),
--   what was answered ('' = nothing), recipients (JSON, '' = not known). Returns 'recorded' | 'enabled'.
local receiver = ARGV[3]
noteAttempt(ATTEMPTS, receiverKey(receiver), { at = ARGV[1], id = ARGV[2], receiver = receiver, type = 'alert.test', attempt = 1,
  outcome = ARGV[4], reason = ARGV[5], ms = ARGV[6], answer = ARGV[7], recipients = ARGV[8] })
noteRecipients(receiverKey(receiver), ARGV[8])
if ARGV[4] ~= 'delivered' then return 'recorded' end
local wasDisabled = redis.call('HDEL', DISABLED, receiver) == 1
if wasDisabled or redis.call('HEXISTS', receiverKey(receiver), 'pausedUntil') == 1 then hurry(receiver, ARGV[1]) end
return wasDisabled and 'enabled' or 'recorded'

--!step replayDelivery
--!include delivery-step
-- A delivery that was given up is on its way again, under its id, as if it were new.
-- KEYS: any. ARGV: id, now. Returns 'replayed' | 'lost' (it is not dead any more).
local id, now = ARGV[1], ARGV[2]
local KEY = deliveryKey(id)

if redis.call('HGET', KEY, 'state') ~= 'dead' then return 'lost' end
local receiver = redis.call('HGET', KEY, 'receiver')
redis.call('HDEL', KEY, 'state', 'endedAt', 'refusedBy', 'waitedMs')
redis.call('HSET', KEY, 'createdAt', now, 'attempts', 0)
redis.call('ZREM', DEAD, id)
redis.call('ZADD', UNDER_WAY, now, id)
planAttempt(id, receiver, now, notBefore(receiver, now))
planReceiver(receiver)
return 'replayed'

--!step hurryReceiver
--!include delivery-step
-- All that waits for a receiver is due now.
-- KEYS: any. ARGV: receiver, now. Returns how many were not.
return hurry(ARGV[1], ARGV[2])

--!step forgetDelivery
--!include delivery-step
-- A delivery that was given up long ago, or whose receiver is gone: it can't be replayed any more.
-- KEYS: any. ARGV: id, 'dead' (only as long as it is that) | 'any'. Returns 'forgotten' | 'lost' (it is not dead any more).
local id = ARGV[1]

if redis.call('ZREM', DEAD, id) == 0 and ARGV[2] == 'dead' then return 'lost' end
local receiver = redis.call('HGET', deliveryKey(id), 'receiver') or ''
redis.call('ZREM', pendingKey(receiver), id)
redis.call('ZREM', UNDER_WAY, id)
leaveLines(id, receiver, subjectsOf(id))
redis.call('DEL', deliveryKey(id))
planReceiver(receiver)
return 'forgotten'

--!step planReconnectMail
--!include delivery-step
-- Puts a mail that asks to connect an account again on its way, once for all daemons in a while, and not while the one before is.
-- KEYS: the last such mail of the account. ARGV: now, least time between two (ms), delivery id, receiver, message (JSON), how long to
--   remember it (ms). Returns 'planned' | 'not-due'.
local now, id = tonumber(ARGV[1]), ARGV[3]
local last = redis.call('HMGET', KEYS[1], 'at', 'delivery')
local at = tonumber(last[1] or '')
if at and (now - at < tonumber(ARGV[2]) or isOnItsWay(last[2])) then return 'not-due' end
redis.call('HSET', KEYS[1], 'at', now, 'delivery', id)
redis.call('PEXPIRE', KEYS[1], ARGV[6])
plan(id, ARGV[4], now, 'account.reconnect', ARGV[5])
return 'planned'

--!step enableReceivers
--!include delivery-step
-- Gives receivers another chance, at the addresses that they have now; how one that was switched off, or had another address,
-- fared before says nothing about it.
-- KEYS: any. ARGV: now, then of each: receiver, mark of its address ('' = not known).
for n = 2, #ARGV, 2 do
  redis.call('ZADD', RECEIVERS, ARGV[1], ARGV[n])
  local key = receiverKey(ARGV[n])
  local before = redis.call('HGET', key, 'address')
  local isOther = before and before ~= ARGV[n + 1]
  if ARGV[n + 1] ~= '' then redis.call('HSET', key, 'address', ARGV[n + 1]) end
  if redis.call('HDEL', DISABLED, ARGV[n]) == 1 or isOther then
    redis.call('HDEL', key, 'failingSince', 'failures', 'lastReason')
    hurry(ARGV[n], ARGV[1])
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
-- KEYS: any. ARGV: receiver, when its last one was made as it was read, now, id of the delivery, message (JSON), alerts that
--   it shows (with spaces between).
-- Returns 'sent' | 'lost' (another daemon made it, or it shows what is over: it is made anew).
local receiver, read, now, id, message, shows = unpack(ARGV)
if tonumber(redis.call('ZSCORE', DIGESTS_SENT, receiver) or '') ~= tonumber(read) then return 'lost' end
-- The message that says that an alert is over did not wait for a digest that was being made, and arrives before it. What has been over
-- for a minute was read as open all the same: a failover brought it back.
for _, alert in ipairs(words(shows)) do
  local last = sentLast(receiver, alert)
  if last and last.isOver and last.at > now - 60000 then return 'lost' end
end
redis.call('ZADD', DIGESTS_SENT, now, receiver)
-- A digest carries no transition: each has a delivery of its own. But it shows alerts as firing.
plan(id, receiver, now, 'alert.digest', message, 'transitions', '', 'shows', shows)
return 'sent'
