--!include account-step
-- What a poll found, in one step: last numbers and records, history, states of alerts, alerts to send, the next poll. The loser of a
-- race changes nothing.
-- ARGV: lines: hubId, number of the poll as read, next poll, when it was read ('' = it was not), when the account counts as read ('' = it was not),
--     how near its nearest limit is ('' = as it was, 'far' = no ranking has it), how long samples are kept, ms, what it saw ('' = as before),
--     its turn ('' = as it was);
--   when it was read, packed; other fields of the account (JSON, '' = none; `parkedUntil`: it is to be parked); readings ('' = as they are,
--   'unchanged' = but for their moment); record for the history ('' = nothing changed); alert writes (JSON, '' = none); samples ('' = as they are,
--   'unchanged' = but for their moment, 'none').
-- Returns 'committed' | 'gone' | 'lost'.
local hubId, poll, pollAt, polledAt, freshAt, nearest, keepSamples, seen, turn = string.match(ARGV[1],
  '^([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n(.*)$')
local moment, others, readings, record, writes, samples = unpack(ARGV, 2, 7)
-- Thinning out is somebody else's; this is so that an account can't grow without end if nobody does it.
local MOST_RECORDS = 20000

local a = redis.call('HMGET', ACCOUNT, 'state', 'polls', 'parkedUntil', 'expiresAt', 'pollFailingSince', 'firstReadingDue')
if not isLive(a[1]) then return 'gone' end
if (a[2] or '0') ~= poll then return 'lost' end
local alerts = writes ~= '' and cjson.decode(writes) or nil
if alerts and not alertsAreAsRead(alerts.changes) then return 'lost' end

local isPolled = a[1] ~= 'reauthorize' and a[4] ~= '0'
-- One command for all that every poll writes.
local written = { 'polls', poll + 1 }
if polledAt ~= '' then written[3], written[4] = 'polledAt', polledAt end
-- One that is not polled leaves the ranking: the poll that comes after must not go by this one.
if seen ~= '' and isPolled then written[#written + 1], written[#written + 2] = 'seen', seen end
if turn ~= '' then written[#written + 1], written[#written + 2] = 'pollBecause', turn end
redis.call('HSET', ACCOUNT, unpack(written))
local fields = others ~= '' and cjson.decode(others) or nil
if fields and not isPolled then fields.parkedUntil = nil end
if fields and fields.parkedUntil then
  if a[1] == 'parked' and a[3] and tonumber(a[3]) > tonumber(fields.parkedUntil) then fields.parkedUntil = a[3] end
  -- As a refresh that is told to stay away leaves it: nobody calls for the account before.
  a[1], a[3], fields.retryAt = 'parked', fields.parkedUntil, fields.parkedUntil
  setState(hubId, 'parked')
  redis.call('ZADD', dueKey('refresh'), fields.parkedUntil, hubId)
end
if fields then setFields(fields) end
-- An account that must be authorised again, or was imported over meanwhile, is not polled until its tokens work.
if isPolled then
  -- Told to stay away while this poll was under way: that counts.
  if a[1] == 'parked' and a[3] then pollAt = math.max(pollAt, a[3]) end
  redis.call('ZADD', dueKey('poll'), pollAt, hubId)
  if fields or a[5] or freshAt == '' then noteReading(hubId, freshAt, fields or {})
  else redis.call('ZADD', freshKey(), freshAt, hubId) end
  if a[6] and (freshAt ~= '' or (fields and fields.pollBlocked == 'all')) then
    redis.call('HDEL', ACCOUNT, 'firstReadingDue')
    redis.call('ZADD', firstReadingsKey(), 'XX', 0, hubId)
  end
  if nearest == 'far' then redis.call('ZREM', nearestKey(), hubId)
  elseif nearest ~= '' then redis.call('ZADD', nearestKey(), nearest, hubId) end
end
-- What was all read at one moment, and is as it was, has another moment and nothing else that is new. What somebody has
-- deleted meanwhile stays deleted.
local function moveTo(key, at)
  if redis.call('SETRANGE', key, 1, at) == 1 + #at then redis.call('DEL', key) end
end
if readings == 'unchanged' then moveTo(readingsKey(), moment)
elseif readings ~= '' then redis.call('SET', readingsKey(), readings) end
if samples == 'unchanged' then
  moveTo(samplesKey(), moment)
  redis.call('PEXPIRE', samplesKey(), keepSamples)
elseif samples == 'none' then redis.call('DEL', samplesKey())
elseif samples ~= '' then redis.call('SET', samplesKey(), samples, 'PX', keepSamples) end
if record ~= '' and redis.call('RPUSH', historyKey(), record) > MOST_RECORDS then
  redis.call('LTRIM', historyKey(), -MOST_RECORDS, -1)
end
if alerts then writeAlerts(hubId, alerts) end
return 'committed'
