-- Shared by every step on deliveries, and on receivers' states. KEYS[1] is the set of deliveries that are due; the names of
-- the others are made here as `keys.ts` makes them.
local DELIVERIES_DUE, AT = KEYS[1], string.match(KEYS[1], '^(.*}):')
local DEAD, DELIVERED, WAITING, UNDER_WAY = AT .. ':dead', AT .. ':delivered', AT .. ':waiting', AT .. ':under-way'
local ATTEMPTS, DISABLED, RECEIVERS = AT .. ':attempts', AT .. ':disabled', AT .. ':receivers'
-- Receiver and alert -> the delivery of its acknowledgement.
local ACKNOWLEDGING = AT .. ':acknowledging'
local DIGESTS_SENT = AT .. ':digests'
-- Most elements that are safely handed to one command.
local CHUNK = 500

local function knownKey(receiver) return AT .. ':known:' .. receiver end
local function overKey(receiver) return AT .. ':over:' .. receiver end
local function recentKey(receiver) return AT .. ':recent:' .. receiver end
local function deliveryKey(id) return AT .. ':delivery:' .. id end
local function receiverKey(name) return AT .. ':receiver:' .. name end
local function lastEventKey(receiver, hubId) return AT .. ':last-event:' .. receiver .. '|' .. hubId end
local function digestKey(receiver) return AT .. ':digest:' .. receiver end

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
  local known = redis.call('HGET', knownKey(receiver), alert)
  local isRead, sent = pcall(cjson.decode, known or '')
  local last = isRead and type(sent) == 'table' and sent.told
  return type(last) == 'table' and not last.isOver and last or nil
end
