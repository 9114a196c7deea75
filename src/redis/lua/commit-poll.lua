--!include account-step
-- What a poll found, in one step: last numbers and records, history, states of alerts, alerts to send, the next poll. The loser of a
-- race changes nothing.
-- ARGV: hubId, number of the poll as read, next poll, fields of the account (JSON), readings ('' = as they are),
--   record for the history ('' = nothing changed), alert writes (JSON), samples ('' = as they are), how long these are kept, ms (0 = not at all),
--   when the account counts as read ('' = it was not), how near its nearest limit is ('' = as it was, 'far' = no ranking has it).
-- Returns 'committed' | 'gone' | 'lost'.
local hubId, poll, pollAt, fields, readings = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local record, writes, samples, keepSamples, freshAt, nearest = ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10], ARGV[11]
-- Thinning out is somebody else's; this is so that an account can't grow without end if nobody does it.
local MOST_RECORDS = 20000

local a = redis.call('HMGET', ACCOUNT, 'state', 'polls', 'parkedUntil', 'expiresAt')
if not isLive(a[1]) then return 'gone' end
if (a[2] or '0') ~= poll then return 'lost' end
local alerts = writes ~= '' and cjson.decode(writes) or { changes = {}, entries = {} }
if not alertsAreAsRead(alerts.changes) then return 'lost' end

redis.call('HINCRBY', ACCOUNT, 'polls', 1)
fields = cjson.decode(fields)
setFields(fields)
-- An account that must be authorised again, or was imported over meanwhile, is not polled until its tokens work.
if a[1] ~= 'reauthorize' and a[4] ~= '0' then
  -- Told to stay away while this poll was under way: that counts.
  if a[1] == 'parked' and a[3] then pollAt = math.max(pollAt, a[3]) end
  redis.call('ZADD', DUE_POLL, pollAt, hubId)
  noteReading(hubId, freshAt, fields)
  if nearest == 'far' then redis.call('ZREM', NEAREST, hubId)
  elseif nearest ~= '' then redis.call('ZADD', NEAREST, nearest, hubId) end
end
if readings ~= '' then redis.call('SET', READINGS, readings) end
if keepSamples == '0' then redis.call('DEL', SAMPLES)
elseif samples ~= '' then redis.call('SET', SAMPLES, samples, 'PX', keepSamples) end
if record ~= '' and redis.call('RPUSH', HISTORY, record) > MOST_RECORDS then
  redis.call('LTRIM', HISTORY, -MOST_RECORDS, -1)
end
writeAlerts(hubId, alerts)
return 'committed'
