-- Alerts on their way from the outbox to a message: groups, what is held back, what is dropped.

--!step readOutbox
-- What waits in the outbox of a partition, oldest first, and what was committed right before it: that left the outbox once
-- it was collected.
-- KEYS: any account of the partition. ARGV: most entries. Returns { name of what was committed before, or '', { { id, fields }, ... } }.
local AT = string.match(KEYS[1], '^(.*}):account:')
local waiting = redis.call('XRANGE', AT .. ':outbox', '-', '+', 'COUNT', ARGV[1])
local last = '+'
for _, entry in ipairs(waiting) do
  local name = string.match(entry[2][4] or '', '^%d+%-?%d*$')
  if name then
    last = '(' .. name
    break
  end
end
local before = redis.call('XREVRANGE', AT .. ':log', last, '-', 'COUNT', 1)[1]
return { before and before[1] or '', waiting }

--!step collectAlerts
--!include ledger-step
-- Transitions of one partition join the group of each of their receivers, and the ledger gets them. What was collected
-- before is passed over, so that it can be done again at any time: the relay may die between this step and taking them off
-- the outbox.
-- KEYS: ledger. ARGV: partition, now, wait, interval (ms), name of what was collected right before ('' = not known), then of
--   each transition, in their order: name, when it happened (ms), why nobody gets it, how many groups, then of each: group,
--   pace, the group that a mass joins and its pace, as what it counts for a mass, element.
-- Returns the names of those that joined, or 'lost': a node was lost since, and what it forgot is not among these.
local partition, now, wait, interval = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

-- More than a partition's log has, which is cut now and then: what is in the log and not in here was forgotten.
local MOST_REMEMBERED = 2000

if ARGV[5] ~= '' and not isCollected(partition, ARGV[5]) then return 'lost' end
local joined, counted, n = {}, 0, 6
while n <= #ARGV do
  local name, at, why, groups = unpack(ARGV, n, n + 3)
  groups = tonumber(groups)
  -- They are collected in their order: behind one that joins there is no copy.
  if #joined > 0 or not isCollected(partition, name) then
    joined[#joined + 1] = name
    local ref, order = partition .. '-' .. name, redis.call('HINCRBY', COUNTS, 'order', 1)
    if groups == 0 then
      noteEnds({ ref }, 'withheld', why, now)
      counted = counted + 1
    else
      -- One that is told again, and still stands in here, counts once.
      counted = counted + redis.call('HSET', LEDGER, ref, groups .. ' 0 0 0')
      redis.call('ZADD', PENDING, at, ref)
    end
    for g = 0, groups - 1 do
      local group, pace, mass, massPace, counts, element = unpack(ARGV, n + 4 + 6 * g, n + 9 + 6 * g)
      -- What is collected later is newer, whatever the clock of its partition says: the element, a JSON object, begins with that.
      element = '{"order":' .. order .. ',' .. string.sub(element, 2)
      join(group, pace, mass, massPace, counts, ref, element, now, wait, interval)
    end
  end
  n = n + 4 + 6 * groups
end
if #joined > 0 then
  redis.call('HINCRBY', COUNTS, 'collected', counted)
  inChunks(joined, 'RPUSH', collectedKey(partition))
  redis.call('LTRIM', collectedKey(partition), -MOST_REMEMBERED, -1)
end
return joined

--!step findForgotten
--!include ledger-step
-- Whether what was collected is still known as that. A node that took over may have lost it. Reads only.
-- KEYS: ledger. ARGV: partition and name of each transition. Returns the partitions of those that are not known.
local forgotten = {}
for n = 1, #ARGV, 2 do
  if not isCollected(ARGV[n], ARGV[n + 1]) then forgotten[#forgotten + 1] = ARGV[n] end
end
return forgotten

--!step moveWaiting
--!include ledger-step
-- What waits in a group goes to another one, where more of the same alerts waits, 500 at most: what was sent already, or
-- taken out otherwise, stays out. What was moved already counts: whoever asks again, because the answer was lost, must look at
-- the other group anew as well.
-- KEYS: ledger. ARGV: group, the other group, now, interval (ms), transitions that may wait in the first. Returns how many wait there.
local group, other, now, interval = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

local refs, moved, already = {}, {}, 0
for n = 5, #ARGV do
  local element = redis.call('HGET', groupKey(group), ARGV[n])
  if element then
    refs[#refs + 1] = ARGV[n]
    moved[#moved + 1] = ARGV[n]
    moved[#moved + 1] = element
  elseif redis.call('HEXISTS', groupKey(other), ARGV[n]) == 1 then already = already + 1
  end
end
if #refs == 0 then return already end
inChunks(moved, 'HSET', groupKey(other))
-- It is about to close; if somebody else was sooner it closes again.
redis.call('ZADD', GROUPS_DUE, 'NX', now, other)
noteEarlier(other)
takeOut(group, refs, interval)
return #refs + already

--!step holdAlerts
--!include ledger-step
-- Alerts leave their group to be held back from its receiver, 500 at most.
-- KEYS: ledger. ARGV: group, times something was taken out of it as read, interval (ms), then of each: receiver and alert,
--   what is held (JSON), when to look again (ms), its transitions in the group (with spaces between).
-- Returns times something was taken out of the group from now on | 'lost'.
local group = ARGV[1]

if not isTakenAs(group, ARGV[2]) then return 'lost' end
local refs = {}
for n = 4, #ARGV, 4 do
  -- Held by somebody else meanwhile: the next look at the group puts both together.
  if redis.call('HSETNX', HELD, ARGV[n], ARGV[n + 1]) == 1 then
    redis.call('ZADD', HELD_DUE, ARGV[n + 2], ARGV[n])
    for _, ref in ipairs(words(ARGV[n + 3])) do refs[#refs + 1] = ref end
  end
end
return takeOut(group, refs, tonumber(ARGV[3]))

--!step releaseHeld
--!include ledger-step
-- What is held back goes to a group again, to be judged anew, 500 at most.
-- KEYS: ledger. ARGV: now, wait, interval (ms), then of each: receiver and alert, what is held as read (JSON), group, pace,
--   the group that a mass joins and its pace, newest transition, element for the group. Returns how many.
local now, wait, interval = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local released = 0
for n = 4, #ARGV, 8 do
  if redis.call('HGET', HELD, ARGV[n]) == ARGV[n + 1] then
    redis.call('HDEL', HELD, ARGV[n])
    redis.call('ZREM', HELD_DUE, ARGV[n])
    local group, pace, mass, massPace, ref, element = unpack(ARGV, n + 2, n + 7)
    noteEarlier(join(group, pace, mass, massPace, 'firing', ref, element, now, wait, interval))
    released = released + 1
  end
end
return released

--!step dropHeld
--!include ledger-step
-- What is held back from a receiver that is gone is not sent any more, 500 at most.
-- KEYS: ledger. ARGV: now, why, then receiver and alert of each.
for n = 3, #ARGV do
  local stored, refs = redis.call('HGET', HELD, ARGV[n]), {}
  for _, one in ipairs(stored and cjson.decode(stored).of or {}) do refs[#refs + 1] = one[1] end
  settle(refs, 'pending', 'withheld', ARGV[2], ARGV[1])
  redis.call('HDEL', HELD, ARGV[n])
  redis.call('ZREM', HELD_DUE, ARGV[n])
end
return 0

--!step withholdAlerts
--!include ledger-step
-- Alerts leave their group and nobody gets them, 500 at most.
-- KEYS: ledger. ARGV: group, times something was taken out of it as read, now, interval (ms), receiver and alert of
--   those that are over by this, and of those that were over before (each with spaces between), then of each: its fields
--   in the group, all its transitions (with spaces between), why.
-- Returns times something was taken out of the group from now on | 'lost'.
local group, now, over = ARGV[1], ARGV[3], words(ARGV[5])

-- A node was lost since the caller read that the receiver knows of the end: it may not know.
for _, alert in ipairs(words(ARGV[6])) do
  if not redis.call('ZSCORE', OVER, alert) then return 'lost' end
end
-- Its receiver was sent the firing meanwhile, and must hear of the end.
if isAnyOf(over, TOLD) then return 'lost' end
if not isTakenAs(group, ARGV[2]) then return 'lost' end
noteOver(over, now)
local fields = {}
for n = 7, #ARGV, 3 do
  for _, field in ipairs(words(ARGV[n])) do fields[#fields + 1] = field end
  settle(words(ARGV[n + 1]), 'pending', 'withheld', ARGV[n + 2], now)
end
return takeOut(group, fields, tonumber(ARGV[4]))

--!step closeGroup
--!include ledger-step
-- Closes a group: what is told becomes deliveries. Two workers that close the same group make one set of them.
-- KEYS: ledger. ARGV: group, times something was taken out of it as read, now, when the rest closes, interval (ms), fields
--   that are taken (with spaces between), how many of them hurried, what was told at which level (with spaces between), then of
--   each delivery: id, receiver, type, message (JSON), transitions with their ids, and of what it carries receiver and alert, and
--   order (with spaces between).
-- Returns 'closed' | 'lost'.
local group, now, rest, interval = ARGV[1], ARGV[3], ARGV[4], tonumber(ARGV[5])
local told = words(ARGV[8])

-- An alert may have been in another group before. Returns the deliveries that carry them and have not arrived, with the
-- receiver's last digest, and whether one of them carries a newer transition.
local function sentBefore(receiver, alerts, orders)
  local checked, ids, isNewer = {}, {}, false
  local function see(id)
    if not id or checked[id] then return end
    checked[id] = true
    local known = redis.call('HMGET', deliveryKey(id), 'message', 'state', 'after')
    if not known[1] or known[2] == 'delivered' then return end
    ids[#ids + 1] = id
    -- It was not tried yet: what goes before it goes before this one, too.
    for _, other in ipairs(words(known[3] or '')) do see(other) end
  end
  for first = 1, #alerts, CHUNK do
    local last = math.min(first + CHUNK - 1, #alerts)
    for n, sent in ipairs(redis.call('HMGET', LAST_SENT, unpack(alerts, first, last))) do
      local order, id = string.match(sent or '', '^(%S+) (%S+)')
      if order and tonumber(order) > tonumber(orders[first + n - 1]) then isNewer = true end
      see(id)
    end
  end
  see(redis.call('HGET', digestKey(receiver), 'delivery'))
  return table.concat(ids, ' '), isNewer
end

local made = {}
for n = 9, #ARGV, 6 do
  local alerts, orders = {}, {}
  for alert, order in string.gmatch(ARGV[n + 5], '(%S+) (%S+)') do
    alerts[#alerts + 1] = alert
    orders[#orders + 1] = order
  end
  local after, isNewer = sentBefore(ARGV[n + 1], alerts, orders)
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
  redis.call('ZADD', RECEIVERS, 'NX', now, ARGV[n + 1])
  if type == 'alert.resolved' then noteOver(alerts, now)
  else
    for i, alert in ipairs(alerts) do
      redis.call('ZADD', TOLD, now, alert)
      redis.call('HSET', LAST_SENT, alert, orders[i] .. ' ' .. id .. ' ' .. group)
    end
  end
end
return 'closed'
