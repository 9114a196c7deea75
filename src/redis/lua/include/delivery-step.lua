-- Shared by every step on deliveries, and on receivers' states. KEYS[1] is the set of deliveries that are due; the names of
-- the others are made here as `keys.ts` makes them.
local DELIVERIES_DUE, AT = KEYS[1], string.match(KEYS[1], '^(.*}):')
local DEAD, DELIVERED, WAITING, UNDER_WAY = AT .. ':dead', AT .. ':delivered', AT .. ':waiting', AT .. ':under-way'
local ATTEMPTS, DISABLED, RECEIVERS = AT .. ':attempts', AT .. ':disabled', AT .. ':receivers'
local DIGESTS_SENT = AT .. ':digests'
local NEWS, UNSENT, DECIDED, ENDED = AT .. ':news', AT .. ':unsent', AT .. ':decided', AT .. ':ended'
local ACKNOWLEDGED, ACKNOWLEDGEMENTS_DUE = AT .. ':acknowledged', AT .. ':due:acknowledgement'
local HOLD_CHANGES = AT .. ':hold-changes'
-- Most elements that are safely handed to one command.
local CHUNK = 500

local function knownKey(receiver) return AT .. ':known:' .. receiver end
local function overKey(receiver) return AT .. ':over:' .. receiver end
local function recentKey(receiver) return AT .. ':recent:' .. receiver end
local function deliveryKey(id) return AT .. ':delivery:' .. id end
local function receiverKey(name) return AT .. ':receiver:' .. name end
local function lineKey(receiver, subject) return AT .. ':line:' .. receiver .. '|' .. subject end

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

-- The transition that a receiver was sent last of an alert, unless that was the end. Unreadable text counts as nothing sent.
local function sentLast(receiver, alert)
  local isRead, sent = pcall(cjson.decode, redis.call('HGET', knownKey(receiver), alert) or '')
  local last = isRead and type(sent) == 'table' and sent.told
  return type(last) == 'table' and not last.isOver and last or nil
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

local function joinLines(id, receiver, subjects)
  for _, subject in ipairs(subjects) do redis.call('RPUSH', lineKey(receiver, subject), id) end
end

local function leaveLines(id, receiver, subjects)
  for _, subject in ipairs(subjects) do redis.call('LREM', lineKey(receiver, subject), 0, id) end
end

-- True for a delivery, by its message and its state, that has not arrived and was not given up.
local function isOnItsWay(message, state) return message and not state end

-- A message that waits for all before it in its one line.
local function planAbout(id, receiver, subject, type, message, now)
  redis.call('HSET', deliveryKey(id), 'receiver', receiver, 'type', type, 'message', message, 'createdAt', now, 'attempts', 0,
    'about', subject)
  joinLines(id, receiver, { subject })
  redis.call('ZADD', DELIVERIES_DUE, now, id)
end
