-- Lists of accounts. All of them read only.

--!step searchAccounts
--!include read-fields
-- Part of a list of accounts: those that match, in order, from just after a place in it. Reads only, `most`
-- accounts at a time, so that no other command waits long for it: the caller goes on from where it stopped.
-- KEYS: a key of ours; the names of the others are made here as `keys.ts` makes them.
-- ARGV: what is wanted (JSON):
--   part: 'scores' (those that a sorted set has, in its order) or 'ids' (those that it has not, by hubId; without `set`: all)
--   set: which; reverse: the other way round
--   after: { id, key } that came last
--   states, anyState: in these states; staleBefore: read before that; alert: one is open, 'any' or of that level
--   overdue: { kind, since }: due since then or longer
--   without: these hubIds are left out
--   among: only these hubIds. each: they are few, and looked up one by one, in no order and without `after` and `limit`
--   limit, most
-- Returns { { hubId, key, ... }, hubId and key to go on from ('' = the end is reached) }.
local AT = string.match(KEYS[1], '^(.*}):')
local ask = cjson.decode(ARGV[1])
local reverse, after = ask.reverse, ask.after
local found = {}

local function asSet(ids)
  local set = {}
  for _, id in ipairs(ids) do set[id] = true end
  return set
end

local among = ask.among and asSet(ask.among)
local without = asSet(ask.without or {})
local stale = ask.staleBefore and asSet(redis.call('ZRANGEBYSCORE', AT .. ':fresh', '-inf', '(' .. ask.staleBefore))
local overdue = ask.overdue
  and asSet(redis.call('ZRANGEBYSCORE', AT .. ':due:' .. ask.overdue.kind, '-inf', ask.overdue.since))
local alerting = ask.alert and asSet(redis.call('SMEMBERS', AT .. ':alerting'))

local function isOfState(id)
  local state = fieldsOf(AT .. ':account:' .. id, 'state')[1]
  for _, wanted in ipairs(ask.states) do
    if state == wanted then return true end
  end
  -- One whose record can't be read is in the list of its state all the same.
  for _, wanted in ipairs(ask.states) do
    if redis.call('ZSCORE', AT .. ':accounts:' .. wanted, id) then return true end
  end
  return false
end

local function isOpen(id)
  local states = redis.pcall('HVALS', AT .. ':alerts:' .. id)
  for _, state in ipairs(states.err and {} or states) do
    local level = string.match(state, '^%["(%a+)"')
    if level == ask.alert or ask.alert == 'any' and (level == 'warning' or level == 'critical') then return true end
  end
  return false
end

local function matches(id)
  return numberIn(id)
    and (not among or among[id])
    and not without[id]
    and (not stale or stale[id])
    and (not overdue or overdue[id])
    and (not alerting or alerting[id] and isOpen(id))
end

local function keyOf(id)
  return ask.set and redis.call('ZSCORE', AT .. ':' .. ask.set, id)
end

-- Adds an account; false once enough are found.
local function add(id, key)
  found[#found + 1] = id
  found[#found + 1] = key
  return #found < 2 * ask.limit
end

local function comesBefore(key, id, otherKey, otherId)
  if reverse then key, id, otherKey, otherId = otherKey, otherId, key, id end
  if key ~= otherKey then return key < otherKey end
  return id < otherId
end

-- hubIds of the wanted states in order, as numbers, and as they are written; and how far they are complete (nil: to the end).
local function idsInOrder()
  local numbers, written, horizon = {}, {}, nil
  local command = reverse and 'ZREVRANGEBYSCORE' or 'ZRANGEBYSCORE'
  local first = after and '(' .. after.id or (reverse and '+inf' or '-inf')
  local last = reverse and '-inf' or '+inf'
  for _, state in ipairs(ask.states) do
    local some = redis.call(command, AT .. ':accounts:' .. state, first, last, 'LIMIT', 0, ask.most)
    for _, id in ipairs(some) do
      local number = numberIn(id)
      -- A member that is no hub id was not written by Plimsoll: it is skipped.
      if number then
        numbers[#numbers + 1] = number
        written[number] = id
      end
    end
    if #some == ask.most then
      local furthest = tonumber(redis.call('ZSCORE', AT .. ':accounts:' .. state, some[#some]))
      if not horizon or reverse == (furthest > horizon) then horizon = furthest end
    end
  end
  if reverse then table.sort(numbers, function(a, b) return a > b end) else table.sort(numbers) end
  return numbers, written, horizon
end

local function walkIds()
  local numbers, written, horizon = idsInOrder()
  for _, number in ipairs(numbers) do
    if horizon and number ~= horizon and reverse == (number < horizon) then break end
    local id = written[number]
    if matches(id) and not keyOf(id) and not add(id, '') then return '', '' end
  end
  return horizon and string.format('%.0f', horizon) or '', ''
end

local function walkScores()
  local set, index, looked, atOnce = AT .. ':' .. ask.set, 0, 0, 100
  if after and reverse then index = redis.call('ZCOUNT', set, '(' .. after.key, '+inf') end
  if after and not reverse then index = redis.call('ZCOUNT', set, '-inf', '(' .. after.key) end
  while true do
    local some = redis.call(reverse and 'ZREVRANGE' or 'ZRANGE', set, index, index + atOnce - 1, 'WITHSCORES')
    for n = 1, #some, 2 do
      local id, key = some[n], tonumber(some[n + 1])
      if not after or comesBefore(after.key, after.id, key, id) then
        looked = looked + 1
        if matches(id) and (ask.anyState or isOfState(id)) and not add(id, some[n + 1]) then return '', '' end
        if looked == ask.most then return id, some[n + 1] end
      end
    end
    if #some < 2 * atOnce then return '', '' end
    index, atOnce = index + atOnce, 500
  end
end

local function lookUp()
  for _, id in ipairs(ask.among) do
    if matches(id) and isOfState(id) then
      local key = keyOf(id)
      if key and ask.part == 'scores' or not key and ask.part == 'ids' then add(id, key or '') end
    end
  end
  return '', ''
end

local walk = ask.each and lookUp or ask.part == 'ids' and walkIds or walkScores
local id, key = walk()
return { found, id, key }

--!step readDomains
--!include read-fields
-- Domains of accounts, some at a time. Reads only.
-- KEYS: a key of ours; the names of the others are made here as `keys.ts` makes them.
-- ARGV: hubId that came last ('-inf' = none), most accounts to read of one state, states of accounts.
-- Returns { [hubId, domain, ...] as JSON, because thousands of texts take long to be read, hubId to go on from ('' = the end is reached) }.
local AT = string.match(KEYS[1], '^(.*}):')
local after, most = ARGV[1], ARGV[2]

local some, horizon = {}, nil
for n = 3, #ARGV do
  local ids = redis.call('ZRANGEBYSCORE', AT .. ':accounts:' .. ARGV[n], '(' .. after, '+inf', 'LIMIT', 0, most)
  for _, id in ipairs(ids) do some[#some + 1] = id end
  if #ids == tonumber(most) then
    horizon = math.min(horizon or math.huge, tonumber(redis.call('ZSCORE', AT .. ':accounts:' .. ARGV[n], ids[#ids])))
  end
end
local found = {}
for _, id in ipairs(some) do
  local number = numberIn(id)
  if number and (not horizon or number <= horizon) then
    found[#found + 1] = id
    found[#found + 1] = fieldsOf(AT .. ':account:' .. id, 'hubDomain')[1] or ''
  end
end
return { #found == 0 and '[]' or cjson.encode(found), horizon and string.format('%.0f', horizon) or '' }
