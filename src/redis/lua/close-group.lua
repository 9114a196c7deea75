--!include ledger-step
-- Closes a group: what is told becomes deliveries. Two workers that close the same group make one set of them.
-- KEYS: ledger. ARGV: group, times something was taken out of it as read, now, when the rest closes, interval (ms), fields
--   that are taken (with spaces between), how many of them hurried, what was told at which level (with spaces between), then of
--   each delivery: id, receiver, type, message (JSON), transitions, and receiver and alert of what it carries (with spaces between).
-- Returns 'closed' | 'lost'.
local group, now, rest, interval = ARGV[1], ARGV[3], ARGV[4], tonumber(ARGV[5])
local told = words(ARGV[8])

local alertsOf = {}
for n = 9, #ARGV, 6 do
  alertsOf[n] = words(ARGV[n + 5])
  if ARGV[n + 2] ~= 'alert.resolved' and isAnyOf(alertsOf[n], OVER) then return 'lost' end
end
if not isTakenAs(group, ARGV[2]) then return 'lost' end
takeOut(group, words(ARGV[6]), interval)
if redis.call('EXISTS', groupKey(group)) == 1 then redis.call('ZADD', GROUPS_DUE, rest, group) end
redis.call('HSET', groupStateKey(group), 'closedAt', now, 'hurried', ARGV[7])
local scored = {}
for n, what in ipairs(told) do
  scored[2 * n - 1] = now
  scored[2 * n] = what
end
inChunks(scored, 'ZADD', groupToldKey(group))
redis.call('ZREMRANGEBYSCORE', groupToldKey(group), '-inf', '(' .. now - interval)
redis.call('PEXPIRE', groupToldKey(group), interval + 60000)

-- An alert may have been in another group before: the delivery that showed it last goes first, if it is still to be sent.
local function sentBefore(alerts)
  local checked, ids = {}, {}
  for first = 1, #alerts, CHUNK do
    local last = math.min(first + CHUNK - 1, #alerts)
    for _, id in ipairs(redis.call('HMGET', LAST_SENT, unpack(alerts, first, last))) do
      if id and not checked[id] then
        checked[id] = true
        local known = redis.call('HMGET', deliveryKey(id), 'createdAt', 'state')
        if known[1] and not known[2] then ids[#ids + 1] = id end
      end
    end
  end
  return table.concat(ids, ' ')
end

for n = 9, #ARGV, 6 do
  local id, type, alerts = ARGV[n], ARGV[n + 2], alertsOf[n]
  redis.call('HSET', deliveryKey(id), 'receiver', ARGV[n + 1], 'type', type, 'message', ARGV[n + 3],
    'transitions', ARGV[n + 4], 'createdAt', now, 'attempts', 0, 'after', sentBefore(alerts))
  redis.call('ZADD', DELIVERIES_DUE, now, id)
  if type == 'alert.resolved' then noteOver(alerts, now)
  else
    for _, alert in ipairs(alerts) do
      redis.call('ZADD', TOLD, now, alert)
      redis.call('HSET', LAST_SENT, alert, id)
    end
  end
end
return 'closed'
