--!include account-step
-- What a poll found, in one step: last reports, history, states of alerts, alerts to send, the next poll. The loser of a
-- race changes nothing.
-- ARGV: hubId, number of the poll as read, next poll, fields of the account (JSON), last reports ('' = as they are),
--   time of the history entry, oldest time that the history keeps, history entry (JSON; '[]' = nothing changed),
--   alert writes (JSON).
-- Returns 'committed' | 'gone' | 'lost'.
local hubId, poll, pollAt, fields, reports = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local at, oldest, entry, writes = ARGV[6], ARGV[7], ARGV[8], ARGV[9]

local a = redis.call('HMGET', ACCOUNT, 'state', 'polls', 'parkedUntil', 'expiresAt')
if not isLive(a[1]) then return 'gone' end
if (a[2] or '0') ~= poll then return 'lost' end
local alerts = writes ~= '' and cjson.decode(writes) or { changes = {}, messages = {} }
if not alertsAreAsRead(alerts.changes) then return 'lost' end

redis.call('HINCRBY', ACCOUNT, 'polls', 1)
fields = cjson.decode(fields)
setFields(fields)
-- An account that must be authorised again, or was imported over meanwhile, is not polled until its tokens work.
if a[1] ~= 'reauthorize' and a[4] ~= '0' then
  -- Told to stay away while this poll was under way: that counts.
  if a[1] == 'parked' and a[3] then pollAt = math.max(pollAt, a[3]) end
  redis.call('ZADD', DUE_POLL, pollAt, hubId)
  noteReading(hubId, fields)
end
if reports ~= '' then redis.call('SET', READINGS, reports) end
if entry ~= '[]' then
  redis.call('XADD', HISTORY, 'MINID', '~', oldest, at, 'changes', entry)
end
writeAlerts(hubId, alerts)
return 'committed'
