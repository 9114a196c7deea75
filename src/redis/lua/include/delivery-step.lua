-- Shared by every step on deliveries, and on receivers' states. The names of keys are made here as `keys.ts` makes them.
local AT = string.match(KEYS[1], '^(.*}):')
local RECEIVERS_DUE, RECEIVERS, DISABLED = AT .. ':due:receiver', AT .. ':receivers', AT .. ':disabled'
local DEAD, DELIVERED, WAITING, UNDER_WAY = AT .. ':dead', AT .. ':delivered', AT .. ':waiting', AT .. ':under-way'
local ATTEMPTS, DIGESTS_SENT = AT .. ':attempts', AT .. ':digests'
local NEWS, UNSENT, DECIDED, ENDED = AT .. ':news', AT .. ':unsent', AT .. ':decided', AT .. ':ended'
local ACKNOWLEDGED, ACKNOWLEDGEMENTS_DUE = AT .. ':acknowledged', AT .. ':due:acknowledgement'
local HOLD_CHANGES = AT .. ':hold-changes'
-- Most elements that are safely handed to one command.
local CHUNK = 500

local function knownKey(receiver) return AT .. ':known:' .. receiver end
local function recentKey(receiver) return AT .. ':recent:' .. receiver end
local function deliveryKey(id) return AT .. ':delivery:' .. id end
local function receiverKey(name) return AT .. ':receiver:' .. name end
local function pendingKey(receiver) return AT .. ':pending:' .. receiver end
local function linesKey(receiver) return AT .. ':lines:' .. receiver end

local function words(text)
  local found = {}
  for word in string.gmatch(text, '%S+') do found[#found + 1] = word end
  return found
end

-- A delivery carries the ids of transitions, those that its message shows with their place: `1732183200000-0=a1b2c3-2`.
local function alertOf(carried)
  local id = string.match(carried, '=(.*)$') or carried
  return string.match(id, '^(.*)%-%d+$') or id
end

-- The transition that a receiver was sent last of an alert. Unreadable text counts as nothing sent.
local function sentLast(receiver, alert)
  local isRead, sent = pcall(cjson.decode, redis.call('HGET', knownKey(receiver), alert) or '')
  local last = isRead and type(sent) == 'table' and sent.lastSent
  return type(last) == 'table' and last or nil
end

-- Deliveries of a receiver about the same alert stand in a line, in the order in which they were made, and so do events of an
-- account, and digests, until they have arrived. These are the lines of a delivery: of an event or an acknowledgement one.
local function subjectsOf(id)
  local found = redis.call('HMGET', deliveryKey(id), 'about', 'shows', 'transitions')
  if found[1] then return { found[1] } end
  local subjects, isIn = words(found[2] or ''), {}
  if found[2] then subjects[#subjects + 1] = 'digest' end
  for _, one in ipairs(words(found[3] or '')) do
    local alert = alertOf(one)
    if not isIn[alert] then subjects[#subjects + 1], isIn[alert] = alert, true end
  end
  return subjects
end

local function lineOf(receiver, subject) return words(redis.call('HGET', linesKey(receiver), subject) or '') end

local function leaveLines(id, receiver, subjects)
  for _, subject in ipairs(subjects) do
    local left = {}
    for _, other in ipairs(lineOf(receiver, subject)) do
      if other ~= id then left[#left + 1] = other end
    end
    if #left > 0 then redis.call('HSET', linesKey(receiver), subject, table.concat(left, ' '))
    else redis.call('HDEL', linesKey(receiver), subject) end
  end
end

-- True for a delivery that has not arrived and was not given up.
local function isOnItsWay(id)
  local found = redis.call('HMGET', deliveryKey(id), 'message', 'state')
  return found[1] and not found[2]
end

-- The next attempt of a delivery: behind all others that are due in that millisecond. Its waits are counted, up to then: no clock is
-- compared with that of its first attempt, which may have been wrong.
local function planAttempt(id, receiver, now, at)
  local before = math.floor(redis.call('ZSCORE', pendingKey(receiver), id) or 0)
  redis.call('HINCRBY', deliveryKey(id), 'waitedMs', at - math.max(now, before))
  local last = redis.call('ZREVRANGEBYSCORE', pendingKey(receiver), '(' .. at + 1, at, 'WITHSCORES', 'LIMIT', 0, 1)[2]
  redis.call('ZADD', pendingKey(receiver), last and last + 1 / 4096 or at, id)
end

-- A receiver is due when the first of its deliveries is; who has claimed it plans it afterwards. Returns that moment, or ''.
local function planReceiver(receiver)
  local first = redis.call('ZRANGE', pendingKey(receiver), 0, 0, 'WITHSCORES')[2]
  local at = first and string.format('%.0f', math.floor(first)) or ''
  if tonumber(redis.call('ZSCORE', RECEIVERS_DUE, receiver) or 0) % 1 > 0 then return at end
  if first then redis.call('ZADD', RECEIVERS_DUE, at, receiver) else redis.call('ZREM', RECEIVERS_DUE, receiver) end
  return at
end

-- A receiver that asked for a pause is left alone until then.
local function notBefore(receiver, at)
  return math.max(at, tonumber(redis.call('HGET', receiverKey(receiver), 'pausedUntil') or 0))
end

-- A message goes on its way, behind those before it in its lines; the rest of the arguments are more fields.
local function plan(id, receiver, now, type, message, ...)
  redis.call('HSET', deliveryKey(id), 'receiver', receiver, 'type', type, 'message', message, 'createdAt', now, 'attempts', 0, ...)
  for _, subject in ipairs(subjectsOf(id)) do
    local line = redis.call('HGET', linesKey(receiver), subject)
    redis.call('HSET', linesKey(receiver), subject, (line and line .. ' ' or '') .. id)
  end
  redis.call('ZADD', RECEIVERS, 'NX', now, receiver)
  planAttempt(id, receiver, now, notBefore(receiver, now))
  planReceiver(receiver)
end

-- The pause is over, and all that waits is tried now, in the order in which it waits. Returns how many were not due yet.
local function hurry(receiver, now)
  redis.call('HDEL', receiverKey(receiver), 'pausedUntil')
  local later = redis.call('ZRANGEBYSCORE', pendingKey(receiver), now + 1, '+inf')
  for _, id in ipairs(later) do planAttempt(id, receiver, now, now) end
  planReceiver(receiver)
  return #later
end
