-- Alerts on their way to their receivers: what is news of them, and what each receiver knows.

--!step settleNews
--!include delivery-step
--!include is-as-read
-- Settles news for which it is decided what each receiver of a config is sent. News is not unsent any more once that is so by the config of every daemon that
-- runs, and while each receiver knows what it was to know: a failover may just have lost that. News that came meanwhile stays. News
-- of ended alerts is kept for a while, for receivers that lack the end, and so is what receivers know of them, for late runs.
-- KEYS: any. ARGV: now, the config, those of other daemons (with spaces between), how long it is kept (ms), a list, packed,
--   of each: alert, place of its news as read, number of its transition, 'open' | 'over' | 'drop' (it can't be read), then of each
--   receiver that it means something to: its name, and what it knows.
-- Returns the alerts that stay, each with 'others' (other daemons have not seen it yet) | 'lost'.
local now, config, others, kept, left = ARGV[1], ARGV[2], words(ARGV[3]), tonumber(ARGV[4]), {}

-- Names of the receivers that know something of it; nil where one does not know what it should.
local function knownTo(alert, row)
  local names = {}
  for n = 5, #row, 2 do
    if not isAsRead(redis.call('HGET', knownKey(row[n]), alert) or '', row[n + 1]) then return nil end
    if row[n + 1] ~= '' then names[#names + 1] = row[n] end
  end
  return #names == 0 and '-' or table.concat(names, ',')
end

local function isWaiting(receivers, alert)
  for _, receiver in ipairs(receivers) do
    if redis.call('ZSCORE', WAITING, receiver .. '|' .. alert) then return true end
  end
  return false
end

local function leave(alert, why) left[#left + 1], left[#left + 2] = alert, why end

local function isLeft(alert, place)
  local by = redis.call('HGET', DECIDED, alert)
  by = string.match(by or '', '^%S+') == place and by or place .. ' '
  if not string.find(by, ' ' .. config .. ' ', 1, true) then by = by .. config .. ' ' end
  for _, other in ipairs(others) do
    if not string.find(by, ' ' .. other .. ' ', 1, true) then
      redis.call('HSET', DECIDED, alert, by)
      return true
    end
  end
  return false
end

for _, row in ipairs(cmsgpack.unpack(ARGV[5])) do
  local alert, place, number, is = unpack(row, 1, 4)
  local news, to = redis.call('HGET', NEWS, alert), knownTo(alert, row)
  -- News that another run has settled meanwhile stays as it is: a note in `decided` would be left for good.
  if (string.match(news or '', '^%S+') or '') == place and redis.call('ZSCORE', UNSENT, alert) then
    if not to then leave(alert, 'lost')
    elseif is ~= 'drop' and isLeft(alert, place) then leave(alert, 'others')
    else
      redis.call('ZREM', UNSENT, alert)
      redis.call('HDEL', DECIDED, alert)
      if is == 'drop' then redis.call('HDEL', NEWS, alert)
      else redis.call('HSET', NEWS, alert, place .. ' ' .. number .. ' ' .. to .. string.match(news, '^%S+ %d+ %S+(.*)$')) end
      if is ~= 'over' then redis.call('ZREM', ENDED, alert)
      else
        redis.call('ZADD', ENDED, now, alert)
        redis.call('HDEL', ACKNOWLEDGED, alert)
        redis.call('ZREM', ACKNOWLEDGEMENTS_DUE, alert)
      end
    end
  end
end
local receivers, forgotten = redis.call('ZRANGE', RECEIVERS, 0, -1), {}
for _, alert in ipairs(redis.call('ZRANGEBYSCORE', ENDED, '-inf', now - kept, 'LIMIT', 0, CHUNK)) do
  -- A silence may hold it back for longer.
  if isWaiting(receivers, alert) then redis.call('ZADD', ENDED, now, alert) else forgotten[#forgotten + 1] = alert end
end
if #forgotten > 0 then
  redis.call('HDEL', NEWS, unpack(forgotten))
  redis.call('ZREM', ENDED, unpack(forgotten))
  for _, receiver in ipairs(receivers) do redis.call('HDEL', knownKey(receiver), unpack(forgotten)) end
end
return left

--!step recheckWaiting
--!include recheck-waiting
-- Makes due what waits: what holds alerts back may be another now, or the clock is.
-- KEYS: any.
recheckWaiting(string.match(KEYS[1], '^(.*}):'))
return 0

--!step recordSends
--!include delivery-step
--!include is-as-read
-- Writes the states of a receiver's alerts, the moments of their next checks, and the deliveries that bring them: all or nothing. Of
-- two runs at once the second reads again, and so does one that read what holds alerts back, or news, before that changed.
-- KEYS: any. ARGV: receiver, now, interval (ms), how often what holds alerts back had changed as read.
--   Then how many things it was sent lately, and these.
--   Then a list, packed, of each alert: its id, what is known of it as read ('' = nothing), and from now on, place of its news as read
--   ('' = none), 'held' | 'grouped' | 'sent' | '' (it does not wait). Of one that waits also its next check, and when it happened.
--   Then of each delivery: id, type, message (JSON), transitions with their ids, when the oldest of them happened.
-- Returns 'recorded' | 'lost'.
local receiver, now, interval, holdChanges = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local KNOWN, RECENT = knownKey(receiver), recentKey(receiver)
local CHECKS = { held = AT .. ':held:' .. receiver, grouped = AT .. ':grouped:' .. receiver }
local lastRecent = 5 + ARGV[5]
local changes, firstDelivery = cmsgpack.unpack(ARGV[lastRecent + 1]), lastRecent + 2

if (redis.call('GET', HOLD_CHANGES) or '') ~= holdChanges then return 'lost' end
for _, change in ipairs(changes) do
  if not isAsRead(redis.call('HGET', KNOWN, change[1]) or '', change[2]) then return 'lost' end
  -- By older news an alert would not wait any more whose newest transition is settled, because it waits.
  if change[4] ~= '' and string.match(redis.call('HGET', NEWS, change[1]) or '', '^%S+') ~= change[4] then return 'lost' end
end
for _, change in ipairs(changes) do
  local alert, _, after, _, is, checkAt, happenedAt = unpack(change)
  if after == '' then redis.call('HDEL', KNOWN, alert) else redis.call('HSET', KNOWN, alert, after) end
  for kind, checks in pairs(CHECKS) do
    if is == kind then redis.call('ZADD', checks, checkAt, alert) else redis.call('ZREM', checks, alert) end
  end
  if CHECKS[is] then redis.call('ZADD', WAITING, happenedAt, receiver .. '|' .. alert)
  else redis.call('ZREM', WAITING, receiver .. '|' .. alert) end
  if is == 'sent' and redis.call('HEXISTS', ACKNOWLEDGED, alert) == 1 then redis.call('ZADD', ACKNOWLEDGEMENTS_DUE, now, alert) end
end
redis.call('ZADD', RECEIVERS, 'NX', now, receiver)
if firstDelivery > #ARGV then return 'recorded' end

for n = 6, lastRecent do redis.call('ZADD', RECENT, now, ARGV[n]) end
redis.call('ZREMRANGEBYSCORE', RECENT, '-inf', '(' .. now - interval)
redis.call('PEXPIRE', RECENT, interval + 60000)
for n = firstDelivery, #ARGV, 5 do
  local id, type, message, transitions, happenedAt = unpack(ARGV, n, n + 4)
  plan(id, receiver, now, type, message, 'transitions', transitions)
  redis.call('ZADD', UNDER_WAY, happenedAt, id)
end
return 'recorded'
