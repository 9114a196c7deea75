--!include account-step
-- What a poll found, in one step: last numbers and records, history, states of alerts, alerts to send, the next poll. The loser of a
-- race changes nothing.
-- ARGV: hubId, number of the poll as read, next poll,
--   other fields of the account (JSON, '' = none), when it was read ('' = it was not), its turn ('' = as it was), what it saw ('' = nothing to go by),
--   moment of readings that stay as they are ('' = they do not), readings ('' = as they are), record for the history ('' = nothing changed),
--   alert writes (JSON, '' = none), samples ('' = as they are), moment of samples that stay ('' = as it is), how long these are kept, ms (0 = not at all),
--   when the account counts as read ('' = it was not), how near its nearest limit is ('' = as it was, 'far' = no ranking has it).
-- Returns 'committed' | 'gone' | 'lost'.
local hubId, poll, pollAt, others, polledAt, turn, seen = unpack(ARGV, 1, 7)
local moment, readings, record, writes, samples, samplesMoment, keepSamples, freshAt, nearest = unpack(ARGV, 8, 16)
-- Thinning out is somebody else's; this is so that an account can't grow without end if nobody does it.
local MOST_RECORDS = 20000

local a = redis.call('HMGET', ACCOUNT, 'state', 'polls', 'parkedUntil', 'expiresAt', 'pollFailingSince')
if not isLive(a[1]) then return 'gone' end
if (a[2] or '0') ~= poll then return 'lost' end
local alerts = writes ~= '' and cjson.decode(writes) or nil
if alerts and not alertsAreAsRead(alerts.changes) then return 'lost' end

-- One command for all that every poll writes.
local written = { 'polls', poll + 1, 'seen', seen }
if polledAt ~= '' then written[5], written[6] = 'polledAt', polledAt end
if turn ~= '' then written[#written + 1], written[#written + 2] = 'pollBecause', turn end
redis.call('HSET', ACCOUNT, unpack(written))
local fields = others ~= '' and cjson.decode(others) or nil
if fields then setFields(fields) end
-- An account that must be authorised again, or was imported over meanwhile, is not polled until its tokens work.
if a[1] ~= 'reauthorize' and a[4] ~= '0' then
  -- Told to stay away while this poll was under way: that counts.
  if a[1] == 'parked' and a[3] then pollAt = math.max(pollAt, a[3]) end
  redis.call('ZADD', DUE_POLL, pollAt, hubId)
  if fields or a[5] or freshAt == '' then noteReading(hubId, freshAt, fields or {})
  else redis.call('ZADD', FRESH, freshAt, hubId) end
  if nearest == 'far' then redis.call('ZREM', NEAREST, hubId)
  elseif nearest ~= '' then redis.call('ZADD', NEAREST, nearest, hubId) end
end
-- What was all read at one moment, and is as it was, has another moment and nothing else that is new. What somebody has
-- deleted meanwhile stays deleted.
local function moveTo(key, at)
  if redis.call('SETRANGE', key, 1, at) == 1 + #at then redis.call('DEL', key) end
end
if moment ~= '' then moveTo(READINGS, moment)
elseif readings ~= '' then redis.call('SET', READINGS, readings) end
if keepSamples == '0' then redis.call('DEL', SAMPLES)
elseif samples ~= '' then redis.call('SET', SAMPLES, samples, 'PX', keepSamples)
elseif samplesMoment ~= '' then
  moveTo(SAMPLES, samplesMoment)
  redis.call('PEXPIRE', SAMPLES, keepSamples)
end
if record ~= '' and redis.call('RPUSH', HISTORY, record) > MOST_RECORDS then
  redis.call('LTRIM', HISTORY, -MOST_RECORDS, -1)
end
if alerts then writeAlerts(hubId, alerts) end
return 'committed'
