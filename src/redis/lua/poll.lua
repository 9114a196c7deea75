-- A poll of one account, and what is kept of it.

--!step commitPolls
--!include account-step
--!include refusal
-- Commits polls in one step: what polls know of each account, its next poll; and where there are any, records, history,
-- states of alerts, alerts to send. The claim is compared with the one that the poll was made by: a poll that lost it
-- changes nothing.
-- KEYS: accounts. ARGV, for each: its claim, next poll, when it counts
--   as read ('' = nothing was), its poll state, `PollChanges` packed ('' = nothing of it), line of JSON for the history ('' = nothing changed),
--   records behind the numbers ('' = as they are, 'none').
-- Returns for each 'committed' | 'gone' | 'lost' | 'stale' (an alert is not as it was read: it is due again at once) | error.
local EACH = 7
-- A daily job thins the history out, and sooner at so many; without it MOST_RECORDS keep an account from growing without end.
local TENDED_AT, MOST_RECORDS = 20000, 100000

-- Returns whether it could be written, and the next poll.
local function writeMore(hubId, more, record, samples, pollAt)
  local alerts = more.alerts
  if not alertsAreAsRead(alerts.changes) then return false, pollAt end
  if more.parkedUntil then
    local a = redis.call('HMGET', ACCOUNT, 'state', 'parkedUntil', 'failureClass')
    local parked = more.parkedUntil
    if a[1] == 'parked' and a[2] and tonumber(a[2]) > tonumber(parked) then parked = a[2] end
    pollAt = math.max(tonumber(pollAt), tonumber(parked))
    -- Like a refresh that the provider asks to wait: no call for the account before that.
    setFields({ parkedUntil = parked })
    setState(hubId, 'parked')
    -- An unread answer waits for an operator, however long the provider's pause is.
    if a[3] ~= 'unreadable-answer' then setFields({ retryAt = parked }) end
    planRefresh(hubId, parked)
  end
  if more.isBlocked then redis.call('ZREM', freshKey(), hubId) end
  if more.failingSince == 'over' then redis.call('ZREM', pollFailingKey(), hubId)
  elseif more.failingSince then redis.call('ZADD', pollFailingKey(), more.failingSince, hubId) end
  if more.isFirst then redis.call('ZADD', firstReadingsKey(), 'XX', 0, hubId) end
  if more.nearness == 'none' then redis.call('ZREM', nearestKey(), hubId)
  elseif more.nearness then redis.call('ZADD', nearestKey(), more.nearness, hubId) end
  if samples == 'none' then redis.call('DEL', samplesKey())
  elseif samples ~= '' then redis.call('SET', samplesKey(), samples, 'PX', more.samplesMs) end
  local records = record == '' and 0 or redis.call('RPUSH', historyKey(), record)
  if records == TENDED_AT then redis.call('ZADD', dueKey('history'), 'XX', redisNow(), hubId) end
  if records > MOST_RECORDS then redis.call('LTRIM', historyKey(), -MOST_RECORDS, -1) end
  writeAlerts(hubId, alerts)
  return true, pollAt
end

local answers, hubIds = {}, {}
for n, key in ipairs(KEYS) do hubIds[n] = string.match(key, '%d+$') end
-- All claims are compared before anything is written.
local claims = redis.call('ZMSCORE', dueKey('poll'), unpack(hubIds, 1, #ARGV / EACH))
local set, due, fresh = {}, {}, {}
for n = 1, #ARGV / EACH do
  local hubId, claim = hubIds[n], tonumber(claims[n] or '')
  local made, pollAt, freshAt, state, more, record, samples = unpack(ARGV, (n - 1) * EACH + 1, n * EACH)
  if not claim then answers[n] = 'gone'
  elseif claim ~= tonumber(made) then answers[n] = 'lost'
  else
    answers[n] = 'committed'
    standAt(KEYS[n])
    if more ~= '' then
      local worked, isWritten, at = pcall(writeMore, hubId, cmsgpack.unpack(more), record, samples, pollAt)
      if not worked then answers[n] = refusal(isWritten)
      elseif not isWritten then
        answers[n] = 'stale'
        markPolls('1')
        due[#due + 1], due[#due + 2] = redisNow(), hubId
      else pollAt = at end
    end
    if answers[n] == 'committed' then
      set[#set + 1], set[#set + 2] = pollKey(), state
      due[#due + 1], due[#due + 2] = pollAt, hubId
      if freshAt ~= '' then fresh[#fresh + 1], fresh[#fresh + 2] = freshAt, hubId end
    end
  end
end
if #set > 0 then redis.call('MSET', unpack(set)) end
if #due > 0 then redis.call('ZADD', dueKey('poll'), unpack(due)) end
if #fresh > 0 then redis.call('ZADD', freshKey(), unpack(fresh)) end
return answers

--!step storeForecasts
--!include account-step
-- Stores the forecasts of an account. One that leaves, or was forgotten meanwhile, gets no key that would never be
-- deleted.
-- ARGV: forecasts ('' = none).
-- Returns 'stored' | 'gone'.
if not isLive(redis.call('HGET', ACCOUNT, 'state')) then return 'gone' end
if ARGV[1] == '' then redis.call('DEL', forecastKey()) else redis.call('SET', forecastKey(), ARGV[1]) end
return 'stored'

--!step replaceHistory
--!include account-step
-- The history of an account, thinned out.
-- ARGV: the account's poll state as it was read, how many records its history had then, the one record in place of them.
-- Returns 'replaced' | 'lost' (it was polled or thinned out since it was read: nothing is changed).
if redis.call('GET', pollKey()) ~= ARGV[1] or redis.call('LLEN', historyKey()) ~= tonumber(ARGV[2]) then return 'lost' end

redis.call('DEL', historyKey())
redis.call('RPUSH', historyKey(), ARGV[3])
return 'replaced'
