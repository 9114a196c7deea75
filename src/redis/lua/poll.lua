-- A poll of one account, and what is kept of it.

--!step beginPoll
--!include take-share
-- What a poll starts from, and its first calls from the account's share: one step in the place of six commands. It makes
-- the names of its few keys itself.
-- ARGV: now, calls wanted at once (0 = none), calls allowed, window (ms).
-- Returns {} for an account that is not to be polled, else { packed: { fields: those below that there are; granted: calls;
-- pausedUntil: when the pause of the account ends (0 = there is none); hasSamples: 0, 1; alerts: names and states in turns },
-- access token as stored, forecast, readings }.
-- Calls are only taken where the account can be polled at once: its token lasts for a call, and whose it is is known.
local FIELDS = { 'state', 'expiresAt', 'obtainedAt', 'metadataDue', 'hubDomain', 'generation', 'polls', 'polledAt',
  'pollFailures', 'disagreed', 'companionsAwayUntil', 'pairsSeen', 'pollFailingSince', 'pollBlockedSince', 'changedAt',
  'pollBecause', 'seen', 'typesLeftOut', 'gaps', 'notAvailable', 'bucket' }
local AT, OF = string.match(KEYS[1], '^(.*}):account:(%d+)$')
local now, wanted, allowed, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local a, values = {}, redis.call('HMGET', KEYS[1], unpack(FIELDS))
for place, name in ipairs(FIELDS) do a[name] = values[place] or nil end
if not a.state or a.state == 'uninstalling' or a.state == 'uninstalled' or a.state == 'reauthorize' then return {} end
local expiresAt, obtainedAt = tonumber(a.expiresAt), tonumber(a.obtainedAt)
local texts = redis.call('MGET', AT .. ':paused:' .. OF, AT .. ':forecast:' .. OF, AT .. ':access:' .. OF)
local access = texts[3]
-- By itself: where it is another type, that is not to pass for no readings.
local readings = redis.call('GET', AT .. ':readings:' .. OF)
local granted, wait, pausedUntil = 0, 0, 0
local lasts = access and expiresAt and obtainedAt and expiresAt - now > math.min(10000, (expiresAt - obtainedAt) / 10)
if wanted > 0 and lasts and a.metadataDue ~= '1' then
  granted, wait, pausedUntil = takeShare(AT .. ':calls:' .. OF, texts[1], now, wanted, allowed, window)
end
local hasSamples, alerts = redis.call('EXISTS', AT .. ':samples:' .. OF), redis.call('HGETALL', AT .. ':alerts:' .. OF)
local packed = { fields = a, granted = granted, pausedUntil = pausedUntil, hasSamples = hasSamples, alerts = alerts }
return { cmsgpack.pack(packed), access, texts[2], readings }

--!step commitPoll
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

--!step movePoll
--!include account-step
-- Moves the next poll of an account, and notes why. Whoever polled it meanwhile has planned it anew, and is not overruled.
-- ARGV: hubId, number of the last poll as read, next poll, its turn ('' = as it is).
-- Returns 'moved' | 'gone' | 'lost'.
local hubId, poll, pollAt, turn = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local a = redis.call('HMGET', ACCOUNT, 'state', 'polls')
if not isLive(a[1]) then return 'gone' end
if (a[2] or '0') ~= poll then return 'lost' end
if turn ~= '' then redis.call('HSET', ACCOUNT, 'pollBecause', turn) end
redis.call('ZADD', dueKey('poll'), 'XX', pollAt, hubId)
return 'moved'

--!step storeForecasts
--!include account-step
-- What was told of the pace of an account's series. One that leaves, or was forgotten meanwhile, gets no key that nobody
-- would take away.
-- ARGV: forecasts ('' = none).
-- Returns 'stored' | 'gone'.
if not isLive(redis.call('HGET', ACCOUNT, 'state')) then return 'gone' end
if ARGV[1] == '' then redis.call('DEL', forecastKey()) else redis.call('SET', forecastKey(), ARGV[1]) end
return 'stored'

--!step replaceHistory
--!include account-step
-- The history of an account, thinned out.
-- ARGV: the account's readings as they were read, how many records its history had then, then all records, oldest first.
-- Returns 'replaced' | 'lost' (it was polled or thinned out since it was read: nothing is changed).
if redis.call('GET', readingsKey()) ~= ARGV[1] or redis.call('LLEN', historyKey()) ~= tonumber(ARGV[2]) then return 'lost' end

redis.call('DEL', historyKey())
for n = 3, #ARGV do redis.call('RPUSH', historyKey(), ARGV[n]) end
return 'replaced'

--!step mendAccount
--!include account-step
-- What could not be read of an account is put aside under names of its own, for a while, and the account goes on without it:
-- its record as it would be after an import, its polls as after one that failed.
-- ARGV: hubId, now, what was found (JSON): aside: names of keys, keptMs; alerts: fields of alerts to take away; fields of the
--   record ('' takes one away); state: it is in ('' = as it is); refreshNow; failing: a poll failed; writes: of alerts.
local hubId, now, found = ARGV[1], tonumber(ARGV[2]), cjson.decode(ARGV[3])

for _, key in ipairs(found.aside) do
  if redis.call('EXISTS', key) == 1 then
    redis.call('RENAME', key, key .. ':unreadable')
    redis.call('PEXPIRE', key .. ':unreadable', found.keptMs)
  end
end
if #found.alerts > 0 then redis.call('HDEL', alertsKey(), unpack(found.alerts)) end
setFields(found.fields)
renewAccess('')
if found.state ~= '' then setState(hubId, found.state) end
if found.refreshNow then redis.call('ZADD', dueKey('refresh'), 'XX', now, hubId) end
if found.failing then
  redis.call('ZADD', pollFailingKey(), now, hubId)
  redis.call('ZADD', dueKey('poll'), 'XX', now, hubId)
end
if alertsAreAsRead(found.writes.changes) then writeAlerts(hubId, found.writes) end
return redis.call('EXISTS', ACCOUNT)
