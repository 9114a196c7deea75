-- What every step on groups, deliveries and the ledger of transitions shares. KEYS[1] is the ledger, and declares the slot;
-- the names of the others, all of that slot, are made here as `keys.ts` makes them.
local LEDGER, AT = KEYS[1], string.match(KEYS[1], '^(.*}):ledger$')
local PENDING, COUNTS, ENDS = AT .. ':pending', AT .. ':counts', AT .. ':ends'
local GROUPS_DUE, HELD, HELD_DUE = AT .. ':groups', AT .. ':held', AT .. ':held-due'
-- What a receiver was sent as firing and not as resolved, and what ended a short while ago: receiver and alert -> when, ms.
local TOLD, OVER = AT .. ':told', AT .. ':over'
-- Of what is in TOLD: order of the transition that was sent last, the delivery that shows it, and its group.
local LAST_SENT = AT .. ':last-sent'
-- Receiver and alert -> the delivery of its acknowledgement.
local ACKNOWLEDGING = AT .. ':acknowledging'
local DELIVERIES_DUE, DEAD, DELIVERED = AT .. ':due', AT .. ':dead', AT .. ':delivered'
local ATTEMPTS, DISABLED, RECEIVERS = AT .. ':log', AT .. ':disabled', AT .. ':receivers'
-- As many elements as are safely handed to one command.
local CHUNK = 500
-- Ends that are remembered, each of one delivery or one collected transition: some 150 bytes, 5 MB when full.
local MOST_ENDS = 30000

local function collectedKey(partition) return AT .. ':collected:' .. partition end
local function groupKey(group) return AT .. ':group:' .. group end
local function groupStateKey(group) return AT .. ':group-state:' .. group end
local function groupToldKey(group) return AT .. ':group-told:' .. group end
local function groupAccountsKey(group, what) return AT .. ':group-accounts:' .. what .. ':' .. group end
local function deliveryKey(id) return AT .. ':delivery:' .. id end
local function receiverKey(name) return AT .. ':receiver:' .. name end
local function lastEventKey(receiver, hubId) return AT .. ':last-event:' .. receiver .. '|' .. hubId end
local function digestKey(receiver) return AT .. ':digest:' .. receiver end

-- The newest are at the end, and asked for most.
local function isCollected(partition, name)
  return redis.call('LPOS', collectedKey(partition), name, 'RANK', -1) ~= false
end

local function words(text)
  local found = {}
  for word in string.gmatch(text, '%S+') do found[#found + 1] = word end
  return found
end

-- A delivery carries each transition with its id, which names the alert: `17-1732183200000-0=a1b2c3-2`.
local function refsOf(carried)
  local refs = {}
  for n, one in ipairs(carried) do refs[n] = string.match(one, '^[^=]*') end
  return refs
end

local function alertOf(carried) return string.match(carried, '=(.*)%-%d+$') or carried end

-- One command for many elements.
local function inChunks(elements, command, key)
  for first = 1, #elements, CHUNK do
    redis.call(command, key, unpack(elements, first, math.min(first + CHUNK - 1, #elements)))
  end
end

local function noteEnds(refs, is, why, now)
  for first = 1, #refs, CHUNK do
    local some = table.concat(refs, ' ', first, math.min(first + CHUNK - 1, #refs))
    redis.call('XADD', ENDS, 'MAXLEN', '~', MOST_ENDS, '*', 'at', now, 'is', is, 'why', why, 'transitions', some)
  end
  if #refs > 0 then redis.call('HINCRBY', COUNTS, is, #refs) end
end

local PLACE = { pending = 1, delivered = 2, dead = 3, forgotten = 4 }

-- Moves one receiver of each transition from a place to another; `withheld` is none. A transition has ended once no
-- receiver waits for it or could have it replayed: dead if it was forgotten for one of them, else delivered if anybody
-- has it, else withheld.
local function settle(refs, from, to, why, now)
  local ended = { delivered = {}, withheld = {}, dead = {} }
  for first = 1, #refs, CHUNK do
    local last = math.min(first + CHUNK - 1, #refs)
    local stored = redis.call('HMGET', LEDGER, unpack(refs, first, last))
    local kept, gone, waiting, idle = {}, {}, {}, {}
    for n = first, last do
      local value, ref = stored[n - first + 1], refs[n]
      if value then
        local places = words(value)
        for place = 1, 4 do places[place] = tonumber(places[place]) end
        local waited = places[1] > 0
        places[PLACE[from]] = places[PLACE[from]] - 1
        if PLACE[to] then places[PLACE[to]] = places[PLACE[to]] + 1 end
        local waits = places[1] > 0
        if waited and not waits then idle[#idle + 1] = ref end
        if waits and not waited then
          waiting[#waiting + 1] = now
          waiting[#waiting + 1] = ref
        end
        if waits or places[3] > 0 then
          kept[#kept + 1] = ref
          kept[#kept + 1] = table.concat(places, ' ')
        else
          gone[#gone + 1] = ref
          local is = places[4] > 0 and 'dead' or places[2] > 0 and 'delivered' or 'withheld'
          table.insert(ended[is], ref)
        end
      end
    end
    inChunks(kept, 'HSET', LEDGER)
    inChunks(gone, 'HDEL', LEDGER)
    inChunks(waiting, 'ZADD', PENDING)
    inChunks(idle, 'ZREM', PENDING)
  end
  for is, some in pairs(ended) do noteEnds(some, is, is == 'delivered' and '' or why, now) end
end

-- Two groups may hold parts of one alert: what the other one sent or dropped since the caller read it changes the verdict.
local function isAnyOf(alerts, key)
  for _, alert in ipairs(alerts) do
    if redis.call('ZSCORE', key, alert) then return true end
  end
  return false
end

-- A firing of them that is still on its way is not sent any more.
local function noteOver(alerts, now)
  for _, alert in ipairs(alerts) do
    redis.call('ZREM', TOLD, alert)
    redis.call('HDEL', LAST_SENT, alert)
    redis.call('ZADD', OVER, now, alert)
  end
  redis.call('ZREMRANGEBYSCORE', OVER, '-inf', '(' .. now - 86400000)
end

-- Whoever takes something out of a group says what he had seen taken before: of two at once the second looks again.
local function isTakenAs(group, taken)
  return (redis.call('HGET', groupStateKey(group), 'taken') or '0') == taken
end

-- What joins may be older than what somebody has just read: who closes the group must read it anew.
local function noteEarlier(group)
  redis.call('HINCRBY', groupStateKey(group), 'taken', 1)
end

-- Returns how often something was taken out of it. A group that was quiet for long is as good as new.
local function takeOut(group, refs, interval)
  inChunks(refs, 'HDEL', groupKey(group))
  if redis.call('EXISTS', groupKey(group)) == 0 then redis.call('ZREM', GROUPS_DUE, group) end
  local taken = redis.call('HINCRBY', groupStateKey(group), 'taken', 1)
  redis.call('PEXPIRE', groupStateKey(group), interval * 2 + 86400000)
  return taken
end

-- So many accounts in one trouble are one event: one message.
local MASS = 5

-- What waits of a mass in the groups of its accounts goes to the group of its rule, which closes when the first of them would have.
local function gather(mass, groups, now, interval)
  local rule = string.match(mass, '^[^|]*|rule=(.*)$')
  for _, group in ipairs(groups) do
    local elements, refs, moved = redis.call('HGETALL', groupKey(group)), {}, {}
    for n = 1, #elements, 2 do
      local isJson, waiting = pcall(cjson.decode, elements[n + 1])
      if isJson and waiting.alert.rule == rule then
        refs[#refs + 1] = elements[n]
        moved[#moved + 1] = elements[n]
        moved[#moved + 1] = elements[n + 1]
      end
    end
    if #refs > 0 then
      local closes = tonumber(redis.call('ZSCORE', GROUPS_DUE, group) or '') or now
      local planned = tonumber(redis.call('ZSCORE', GROUPS_DUE, mass) or '') or closes
      inChunks(moved, 'HSET', groupKey(mass))
      redis.call('ZADD', GROUPS_DUE, math.min(planned, closes), mass)
      noteEarlier(mass)
      takeOut(group, refs, interval)
    end
  end
end

local function isUnderWay(mass, what, now, interval)
  local at = tonumber(redis.call('HGET', groupStateKey(mass), what .. 'MassAt') or '')
  -- One that is far ahead is by a clock that was ahead.
  return at ~= nil and math.abs(now - at) <= interval
end

-- Whether an alert is one of a mass: so many accounts' alerts of the rule began within `wait`, or so many ended, and what follows
-- within `interval`. It counts as 'firing' or 'resolved'; as '' it is of a mass that is under way.
local function isMass(mass, group, counts, now, wait, interval)
  if mass == '' then return false end
  if counts ~= '' then
    local accounts, window = groupAccountsKey(mass, counts), math.max(wait, 1)
    redis.call('ZREMRANGEBYSCORE', accounts, '-inf', '(' .. now - window)
    -- By a clock that was ahead.
    redis.call('ZREMRANGEBYSCORE', accounts, '(' .. now + window, '+inf')
    local isNew = redis.call('ZADD', accounts, now, group) == 1
    local count = redis.call('ZCARD', accounts)
    if count >= MASS then redis.call('HSET', groupStateKey(mass), counts .. 'MassAt', now) end
    if isNew and count == MASS then gather(mass, redis.call('ZRANGE', accounts, 0, -1), now, interval) end
    redis.call('ZREMRANGEBYRANK', accounts, 0, -MASS - 1)
    redis.call('PEXPIRE', accounts, window)
  end
  return isUnderWay(mass, 'firing', now, interval) or counts == 'resolved' and isUnderWay(mass, counts, now, interval)
end

-- An alert joins its group, or that of its rule where it is one of a mass ('' = never). Paces: 'digest' | 'urgent' | 'normal'.
-- Returns which of the two.
local function join(group, pace, mass, massPace, counts, ref, element, now, wait, interval)
  if isMass(mass, group, counts, now, wait, interval) then group, pace = mass, massPace end
  redis.call('HSET', groupKey(group), ref, element)
  local planned = tonumber(redis.call('ZSCORE', GROUPS_DUE, group) or '')
  local closes
  if pace == 'digest' then
    -- Settled: nothing new for as long as `wait`, but never later than `interval` after the first.
    local openedAt = tonumber(redis.call('HGET', groupStateKey(group), 'openedAt') or '')
    -- One that is ahead is by a clock that was ahead.
    if not planned or not openedAt or openedAt > now then
      openedAt = now
      redis.call('HSET', groupStateKey(group), 'openedAt', now)
    end
    closes = math.max(now, math.min(now + wait, openedAt + interval))
  elseif pace == 'urgent' then
    closes = math.min(planned or now + wait, now + wait)
  else
    local closedAt = tonumber(redis.call('HGET', groupStateKey(group), 'closedAt') or '0')
    -- A clock that was set back must not keep a group from closing.
    closes = math.min(planned or math.max(now + wait, closedAt + interval), now + wait + interval)
  end
  redis.call('ZADD', GROUPS_DUE, closes, group)
  return group
end
