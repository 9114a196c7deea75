--!include account-step
-- What a poll found, in one step: last numbers and records, history, states of alerts, alerts to send, the next poll. The loser of a
-- race changes nothing.
-- ARGV: what it found, packed, see `PollResult` (what is absent is as it was); when it was read, packed; readings ('' = they stay as they are,
--   'unchanged' = but for their moment); record for the history ('' = nothing changed); samples ('' = as they are, 'unchanged' = but for their moment, 'none').
-- Returns 'committed' | 'gone' | 'lost'.
local found = cmsgpack.unpack(ARGV[1])
local moment, readings, record, samples = unpack(ARGV, 2, 5)
local hubId, pollAt, fields, alerts = found.hubId, found.nextAt, found.fields, found.alerts
-- Thinning out is somebody else's; this is so that an account can't grow without end if nobody does it.
local MOST_RECORDS = 20000

local a = redis.call('HMGET', ACCOUNT, 'state', 'polls', 'parkedUntil', 'expiresAt', 'pollFailingSince', 'firstReadingDue')
if not isLive(a[1]) then return 'gone' end
if (a[2] or '0') ~= found.polls then return 'lost' end
if not alertsAreAsRead(alerts.changes) then return 'lost' end

local isPolled = a[1] ~= 'reauthorize' and a[4] ~= '0'
fields.polls = found.polls + 1
-- One that is not polled leaves the ranking: the poll that comes after must not go by this one.
if isPolled then fields.seen = found.seen else fields.parkedUntil = nil end
if fields.parkedUntil then
  if a[1] == 'parked' and a[3] and tonumber(a[3]) > tonumber(fields.parkedUntil) then fields.parkedUntil = a[3] end
  -- As a refresh that is told to stay away leaves it: nobody calls for the account before.
  a[1], a[3], fields.retryAt = 'parked', fields.parkedUntil, fields.parkedUntil
  setState(hubId, 'parked')
  redis.call('ZADD', dueKey('refresh'), fields.parkedUntil, hubId)
end
setFields(fields)
-- An account that must be authorised again, or was imported over meanwhile, is not polled until its tokens work.
if isPolled then
  -- Told to stay away while this poll was under way: that counts.
  if a[1] == 'parked' and a[3] then pollAt = math.max(pollAt, a[3]) end
  redis.call('ZADD', dueKey('poll'), pollAt, hubId)
  if found.freshAt then redis.call('ZADD', freshKey(), found.freshAt, hubId)
  -- One whose scopes let nothing be read is no gap in what is read.
  elseif fields.pollBlocked == 'all' then redis.call('ZREM', freshKey(), hubId) end
  if (fields.pollFailingSince or '') ~= '' then redis.call('ZADD', pollFailingKey(), fields.pollFailingSince, hubId)
  elseif a[5] then redis.call('ZREM', pollFailingKey(), hubId) end
  if a[6] and (found.freshAt or fields.pollBlocked == 'all') then
    redis.call('HDEL', ACCOUNT, 'firstReadingDue')
    redis.call('ZADD', firstReadingsKey(), 'XX', 0, hubId)
  end
  if found.nearness == 'none' then redis.call('ZREM', nearestKey(), hubId)
  elseif found.nearness then redis.call('ZADD', nearestKey(), found.nearness, hubId) end
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
  redis.call('PEXPIRE', samplesKey(), found.keepSamplesMs)
elseif samples == 'none' then redis.call('DEL', samplesKey())
elseif samples ~= '' then redis.call('SET', samplesKey(), samples, 'PX', found.keepSamplesMs) end
if record ~= '' and redis.call('RPUSH', historyKey(), record) > MOST_RECORDS then
  redis.call('LTRIM', historyKey(), -MOST_RECORDS, -1)
end
writeAlerts(hubId, alerts)
return 'committed'
