--!include ledger-step
-- Closes a group: what is told becomes deliveries. Two workers that close the same group make one set of them.
-- KEYS: ledger. ARGV: group, times something was taken out of it as read, now, when the rest closes, interval (ms), fields
--   that are taken (with spaces between), how many of them hurried, what was told at which level (with spaces between), then of
--   each delivery: id, receiver, type, message (JSON), transitions, and of what it carries receiver and alert, and order (with
--   spaces between).
-- Returns 'closed' | 'lost'.
local group, now, rest, interval = ARGV[1], ARGV[3], ARGV[4], tonumber(ARGV[5])
local told = words(ARGV[8])

-- An alert may have been in another group before. Returns the deliveries that showed them last and are still to be sent, which
-- go first, and whether one of them shows a newer transition.
local function sentBefore(alerts, orders)
  local checked, ids, isNewer = {}, {}, false
  for first = 1, #alerts, CHUNK do
    local last = math.min(first + CHUNK - 1, #alerts)
    for n, sent in ipairs(redis.call('HMGET', LAST_SENT, unpack(alerts, first, last))) do
      local order, id = string.match(sent or '', '^(%S+) (%S+)')
      if order and tonumber(order) > tonumber(orders[first + n - 1]) then isNewer = true end
      if id and not checked[id] then
        checked[id] = true
        local known = redis.call('HMGET', deliveryKey(id), 'createdAt', 'state')
        if known[1] and not known[2] then ids[#ids + 1] = id end
      end
    end
  end
  return table.concat(ids, ' '), isNewer
end

local made = {}
for n = 9, #ARGV, 6 do
  local alerts, orders = {}, {}
  for alert, order in string.gmatch(ARGV[n + 5], '(%S+) (%S+)') do
    alerts[#alerts + 1] = alert
    orders[#orders + 1] = order
  end
  local after, isNewer = sentBefore(alerts, orders)
  if ARGV[n + 2] ~= 'alert.resolved' and (isNewer or isAnyOf(alerts, OVER)) then return 'lost' end
  made[n] = { alerts = alerts, orders = orders, after = after }
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
for n = 9, #ARGV, 6 do
  local id, type, alerts, orders = ARGV[n], ARGV[n + 2], made[n].alerts, made[n].orders
  redis.call('HSET', deliveryKey(id), 'receiver', ARGV[n + 1], 'type', type, 'message', ARGV[n + 3],
    'transitions', ARGV[n + 4], 'createdAt', now, 'attempts', 0, 'after', made[n].after)
  redis.call('ZADD', DELIVERIES_DUE, now, id)
  if type == 'alert.resolved' then noteOver(alerts, now)
  else
    for i, alert in ipairs(alerts) do
      redis.call('ZADD', TOLD, now, alert)
      redis.call('HSET', LAST_SENT, alert, orders[i] .. ' ' .. id .. ' ' .. group)
    end
  end
end
return 'closed'
