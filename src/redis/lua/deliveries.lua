-- Messages on their way to receivers.

--!step beginAttempt
--!include delivery-step
--!include note-attempt
-- Takes a delivery for one attempt: no other caller gets it until the attempt is recorded or handed back, or the claim ends
-- because its daemon died. Earlier deliveries of the same alerts go first: one that is under way is waited for, one that was
-- not tried yet for two claims at most. From the first attempt on an earlier one must never be sent: an attempt that fails may
-- have arrived, and its next copy is passed over by receivers that know its id. So what earlier ones carry of these alerts, on
-- their way or given up, goes along with this one.
-- A receiver that asked for a pause gets nothing before that is over, but the last attempt.
-- An event of an account waits for the one before until that has arrived or is given up. An acknowledgement goes before newer
-- messages of its alert: it is tried at once, and overtaken if that fails.
-- KEYS: deliveries due. ARGV: id, now, how long the attempt may take (ms), next check (ms), how long it may wait between all its
--   attempts (ms), next check of a receiver that asked for more time than that (ms).
-- Returns the fields of the delivery, {} where there is nothing to send, 'held', or when it is due again (ms).
local id, now, claim = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local KEY = deliveryKey(id)

local known = redis.call('HMGET', KEY, 'message', 'state', 'heldUntil', 'after', 'createdAt', 'attempts', 'shows',
  'receiver', 'behind', 'acknowledges', 'waitedMs')
if not known[1] or known[2] then
  redis.call('ZREM', DELIVERIES_DUE, id)
  return {}
end
-- No attempt is held for longer: the clock was set back since.
local function isUnderWay(heldUntil)
  return heldUntil and tonumber(heldUntil) > now and tonumber(heldUntil) < now + 2 * claim
end
if isUnderWay(known[3]) then return 'held' end

local paused = tonumber(redis.call('HGET', receiverKey(known[8]), 'pausedUntil') or '0')
local till = math.min(paused, now + tonumber(ARGV[5]) - (known[11] or 0), tonumber(ARGV[6]))
if till > now then
  redis.call('HINCRBY', KEY, 'waitedMs', till - now)
  redis.call('ZADD', DELIVERIES_DUE, till, id)
  return till
end

local before = redis.call('HMGET', deliveryKey(known[9] or ''), 'message', 'state', 'heldUntil')
if before[1] and not before[2] then
  local due = isUnderWay(before[3]) and 0 or tonumber(redis.call('ZSCORE', DELIVERIES_DUE, known[9]) or '0')
  due = math.min(math.max(due, tonumber(ARGV[4])), tonumber(ARGV[6]))
  redis.call('ZADD', DELIVERIES_DUE, due, id)
  return due
end

local earlier, waited = words(known[4] or ''), now - tonumber(known[5] or '0')
local waits = known[6] == '0' and waited < 2 * claim
for _, other in ipairs(earlier) do
  local found = redis.call('HMGET', deliveryKey(other), 'message', 'state', 'heldUntil', 'attempts', 'shows')
  if found[1] and not found[2] and (isUnderWay(found[3]) or (waits and found[4] == '0' and not found[5])) then
    redis.call('ZADD', DELIVERIES_DUE, ARGV[4], id)
    return tonumber(ARGV[4])
  end
end

local function leave(other, key, field, kept)
  if #kept > 0 then return redis.call('HSET', key, field, table.concat(kept, ' '), 'changed', 1) end
  local of = redis.call('HMGET', key, 'receiver', 'type', 'attempts')
  noteAttempt(ATTEMPTS, '', { at = now, id = other, receiver = of[1], type = of[2], attempt = of[3], outcome = 'overtaken',
    reason = 'a newer message has all that it had: ' .. id, ms = '' })
  redis.call('DEL', key)
  redis.call('ZREM', UNDER_WAY, other)
  redis.call('ZREM', DELIVERIES_DUE, other)
  redis.call('ZREM', DEAD, other)
end

local function takeOver()
  local carried, mine = words(redis.call('HGET', KEY, 'transitions') or ''), {}
  for _, one in ipairs(carried) do mine[alertOf(one)] = true end
  local older = {}
  for _, other in ipairs(earlier) do
    local key = deliveryKey(other)
    local found = redis.call('HMGET', key, 'message', 'state', 'transitions', 'shows')
    if found[1] and found[4] then
      local kept = {}
      for _, alert in ipairs(words(found[4])) do
        if not known[7] and not mine[alert] then kept[#kept + 1] = alert end
      end
      leave(other, key, 'shows', kept)
    elseif found[1] and not known[7] then
      local kept, taken = {}, {}
      for _, one in ipairs(words(found[3])) do
        local into = mine[alertOf(one)] and taken or kept
        into[#into + 1] = one
      end
      for _, one in ipairs(taken) do older[#older + 1] = one end
      if #taken > 0 then leave(other, key, 'transitions', kept) end
    end
  end
  redis.call('HDEL', KEY, 'after')
  if #older == 0 then return end
  for _, one in ipairs(carried) do older[#older + 1] = one end
  redis.call('HSET', KEY, 'transitions', table.concat(older, ' '), 'changed', 1)
end

if known[10] and redis.call('HGET', ACKNOWLEDGING, known[10]) ~= id and not sentLast(known[8], string.match(known[10], '|(.*)$')) then
  -- Replayed after the end of its alert.
  leave(id, KEY, 'acknowledges', {})
  return {}
end

-- True where an acknowledgement goes before this delivery.
local function waitsForAcknowledgement()
  if known[10] or redis.call('EXISTS', ACKNOWLEDGING) == 0 then return false end
  for _, one in ipairs(words(redis.call('HGET', KEY, 'transitions') or '')) do
    local field = known[8] .. '|' .. alertOf(one)
    local other = redis.call('HGET', ACKNOWLEDGING, field)
    local found = other and redis.call('HMGET', deliveryKey(other), 'message', 'state', 'heldUntil', 'begun') or {}
    if found[1] and not found[2] then
      local begun, isNow = tonumber(found[4] or '0'), isUnderWay(found[3])
      -- Attempts before this delivery waited.
      redis.call('HSETNX', KEY, 'waitedFor:' .. other, isNow and begun - 1 or begun)
      if isNow then return true end
      if begun <= tonumber(redis.call('HGET', KEY, 'waitedFor:' .. other)) then
        redis.call('ZADD', DELIVERIES_DUE, now, other)
        return true
      end
      leave(other, deliveryKey(other), 'acknowledges', {})
    end
    if other then redis.call('HDEL', ACKNOWLEDGING, field) end
  end
  return false
end
if waitsForAcknowledgement() then
  redis.call('ZADD', DELIVERIES_DUE, ARGV[4], id)
  return tonumber(ARGV[4])
end

if #earlier > 0 then takeOver() end
if known[10] then redis.call('HINCRBY', KEY, 'begun', 1) end
redis.call('HSET', KEY, 'heldUntil', now + claim)
redis.call('ZADD', DELIVERIES_DUE, now + claim, id)
return redis.call('HGETALL', KEY)

--!step handBackDelivery
-- A delivery that was taken but not tried: due again, for any daemon.
-- KEYS: delivery, deliveries due. ARGV: id, when.
redis.call('HDEL', KEYS[1], 'heldUntil')
if redis.call('HEXISTS', KEYS[1], 'begun') == 1 then redis.call('HINCRBY', KEYS[1], 'begun', -1) end
return redis.call('ZADD', KEYS[2], 'XX', ARGV[2], ARGV[1])

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
-- Returns 'recorded' | 'unknown' | 'moved' (it wants no more, but is not the address any more: tried again) | 'disabled' |
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
local acknowledges = redis.call('HGET', KEY, 'acknowledges')
if acknowledges then redis.call('HDEL', ACKNOWLEDGING, acknowledges) end
redis.call('HSET', KEY, 'state', outcome, 'endedAt', now, 'lastReason', reason)
if outcome == 'delivered' then
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
  'createdAt', now, 'attempts', 0, 'shows', shows, 'after', redis.call('GET', digestKey(receiver)) or '')
redis.call('SET', digestKey(receiver), id)
redis.call('ZADD', DELIVERIES_DUE, now, id)
return 'sent'
