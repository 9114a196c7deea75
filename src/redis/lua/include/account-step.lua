--!include redis-now
--!include append-transitions
--!include is-as-read
-- Shared by every step on an account. KEYS[1] is the account's own; the names of all others are made here as `keys.ts` makes
-- them. Each name is made where it is needed: a step needs six of them, and making all was a tenth of it.
local AT, OF, ACCOUNT
-- Most entries of the log of accounts. An entry takes some 30 bytes; all of a fleet of 100,000 that was imported at once are
-- in it.
local MOST_ACCOUNT_EVENTS = 100000

-- All below is about this account. A call for many goes from one to the next with it.
local function standAt(account)
  AT, OF = string.match(account, '^(.*}):account:(%d+)$')
  ACCOUNT = account
end
standAt(KEYS[1])

local function tokensKey() return AT .. ':tokens:' .. OF end
local function accessKey() return AT .. ':access:' .. OF end
local function watchKey() return AT .. ':watch:' .. OF end
local function samplesKey() return AT .. ':samples:' .. OF end
local function historyKey() return AT .. ':history:' .. OF end
local function forecastKey() return AT .. ':forecast:' .. OF end
local function alertsKey() return AT .. ':alerts:' .. OF end
local function transitionsKey() return AT .. ':transitions:' .. OF end

local function dueKey(kind) return AT .. ':due:' .. kind end
local function freshKey() return AT .. ':fresh' end
local function firstReadingsKey() return AT .. ':first-readings' end
local function pollFailingKey() return AT .. ':poll-failing' end
local function nearestKey() return AT .. ':nearest' end
local function domainsVersionKey() return AT .. ':domains-version' end
local function alertingKey() return AT .. ':alerting' end
local function accountLogKey() return AT .. ':account-log' end
local function forgottenKey() return AT .. ':forgotten' end
local function leftKey() return AT .. ':left:' .. OF end

local function accountEventsKey() return AT .. ':account-events' end
local function acknowledgementsKey() return AT .. ':acknowledgements' end

local function inState(state)
  return AT .. ':accounts:' .. state
end

-- For receivers that want to know: an account came, was lost, works again or went.
local function noteEvent(hubId, event)
  redis.call('XADD', accountEventsKey(), '*', 'hubId', hubId, 'event', event)
end

-- Likewise; details: JSON.
local function noteAcknowledgement(hubId, details)
  redis.call('XADD', acknowledgementsKey(), '*', 'hubId', hubId, 'details', details)
end

-- An account came, came back or went. Its domain is not part of it: that is forgotten with the account.
local function logAccount(hubId, event, now)
  if event ~= 'uninstalled' then noteEvent(hubId, 'connected') end
  redis.call('XADD', accountLogKey(), 'MAXLEN', '~', MOST_ACCOUNT_EVENTS, '*', 'hubId', hubId, 'event', event, 'at', now)
end

local function isLive(state)
  return state and state ~= 'uninstalling' and state ~= 'uninstalled'
end

-- Refresh tokens that may be alive, and are no use but to be deleted with the uninstall: `previous2` and so on. One of an account
-- with so many is dropped.
local MOST_DOOMED = 20

local function keepDoomed(token)
  for n = 2, MOST_DOOMED do
    if redis.call('HSETNX', tokensKey(), 'previous' .. n, token) == 1 then return end
  end
end

-- For an account that is being uninstalled.
local function replaceDoomed(refresh)
  local before = redis.call('HGET', tokensKey(), 'refresh')
  if before then keepDoomed(before) end
  redis.call('HSET', tokensKey(), 'refresh', refresh)
end

-- The access token has a string of its own, so that one MGET begins the polls of many accounts: a line of what a poll needs to
-- know with it, then the token, encrypted. It is read by `stored-access.ts`.
local function writeAccess(generation, obtainedAt, expiresAt, hubDomain, access)
  if type(generation) == 'number' then generation = string.format('%.0f', generation) end
  -- The domain is what others chose: it must not end the line.
  local line = { generation, obtainedAt, expiresAt, (string.gsub(hubDomain or '', '\n', ' ')) }
  redis.call('SET', accessKey(), table.concat(line, ' ') .. '\n' .. access)
end

-- The stored facts about an access token: of another token, or of the one that is there ('' = of that).
local function renewAccess(access)
  if access == '' then
    -- A key of another type counts as missing.
    local stored = redis.call('MGET', accessKey())[1]
    local ends = stored and string.find(stored, '\n', 1, true)
    if not ends then return end
    access = string.sub(stored, ends + 1)
  end
  local a = redis.call('HMGET', ACCOUNT, 'generation', 'obtainedAt', 'expiresAt', 'hubDomain')
  writeAccess(a[1] or '', a[2] or '', a[3] or '', a[4] or '', access)
end

local function setState(hubId, to)
  local from = redis.call('HGET', ACCOUNT, 'state')
  if from == to then return end
  if from then redis.call('ZREM', inState(from), hubId)
  else
    redis.call('INCR', domainsVersionKey())
    -- Each at a time of day of its own: the work on all of them is spread over it.
    redis.call('ZADD', dueKey('history'), redisNow() + hubId % 86400 * 1000, hubId)
  end
  redis.call('HSET', ACCOUNT, 'state', to)
  redis.call('ZADD', inState(to), hubId, hubId)
  if to == 'reauthorize' then noteEvent(hubId, 'reauthorize')
  elseif to == 'active' and from == 'reauthorize' then noteEvent(hubId, 'recovered')
  elseif to == 'uninstalling' and isLive(from) then noteEvent(hubId, 'uninstalled') end
end

local function setFields(fields)
  if fields.hubDomain and fields.hubDomain ~= redis.call('HGET', ACCOUNT, 'hubDomain') then
    redis.call('INCR', domainsVersionKey())
  end
  local set, gone = {}, {}
  for name, value in pairs(fields) do
    if value == '' then gone[#gone + 1] = name else set[#set + 1], set[#set + 2] = name, value end
  end
  if #set > 0 then redis.call('HSET', ACCOUNT, unpack(set)) end
  if #gone > 0 then redis.call('HDEL', ACCOUNT, unpack(gone)) end
end

-- A connection that broke has what was not answered sent again, though it may have been done. The account keeps the ids of
-- the last operations on it with their answers: a step that was done answers as it did, and does nothing. So many will do
-- while one connection is away: each takes 30 bytes, and one more uninstall of what is being uninstalled is one, too.
local MOST_OPERATIONS = 16
local operations

local function answerBefore(operation, record)
  operations = redis.call('HGET', record or ACCOUNT, 'operations') or ''
  for id, answer in string.gmatch(operations, '(%S+) (%S+)') do
    if id == operation then return answer end
  end
end

local function answerWith(operation, answer)
  local kept = { operation .. ' ' .. answer }
  for id, other in string.gmatch(operations, '(%S+) (%S+)') do
    if #kept < MOST_OPERATIONS then kept[#kept + 1] = id .. ' ' .. other end
  end
  redis.call('HSET', ACCOUNT, 'operations', table.concat(kept, ' '))
  return answer
end

-- Marks the watch so that the next poll begins with less, see `packed-watch.ts`: 's', polling was stopped for a while,
-- or its alerts changed; 'g', a new grant, which includes that. An unreadable watch is found by the next poll.
local function markWatch(mark)
  local stands = redis.pcall('GETRANGE', watchKey(), 0, 0)
  if stands == '1' or (stands == 's' and mark == 'g') then redis.call('SETRANGE', watchKey(), 0, mark) end
end

-- The account is polled, next at `at`. Until it was read for the first time, it counts as read when that began.
local function startPolling(hubId, at, now)
  redis.call('ZADD', dueKey('poll'), at, hubId)
  redis.call('ZADD', freshKey(), 'NX', now, hubId)
end

-- The account is not polled any more: its first reading is not waited for.
local function stopPolling(hubId)
  redis.call('ZREM', dueKey('poll'), hubId)
  redis.call('ZREM', freshKey(), hubId)
  redis.call('ZREM', firstReadingsKey(), hubId)
  redis.call('ZREM', pollFailingKey(), hubId)
  redis.call('ZREM', nearestKey(), hubId)
  -- A poll that sees what the last one saw does not rank it anew.
  markWatch('s')
end

-- The lease of an account is a note in it: the owner that works on its tokens, since when (by the owner's clock), and until when if it
-- is not renewed (by the clock of Redis). It goes when its outcome is written: one that is over was left by a worker that
-- died.
local MOST_LEASED_MS = 60000

local function takeLease(owner, since, ms)
  redis.call('HSET', ACCOUNT, 'refreshing', string.format('%s %s %.0f', owner, since, redisNow() + ms))
end

-- True where another owner has it. No lease lasts longer than that: the clock was set back since.
local function isHeld(note, owner)
  local by, ends = string.match(note or '', '^(%S+) %d+ (%d+)$')
  if not by or by == owner then return false end
  local left = ends - redisNow()
  return left > 0 and left <= MOST_LEASED_MS
end

-- Returns whether it was the owner's.
local function endLease(note, owner)
  if string.match(note or '', '^%S+') ~= owner then return false end
  return redis.call('HDEL', ACCOUNT, 'refreshing') == 1
end

-- A grant has so many generations of tokens to itself: a store that lost its last writes, with a failover, repeats none of
-- another grant.
local GENERATIONS_OF_A_GRANT = 1000000

-- Nil for what is no generation: nothing but this reads one, so that a spoiled record stops no step.
local function generationIn(text)
  return string.match(text or '', '^%d+$') and tonumber(text)
end

-- One that no tokens had: where the stored one can't be read, as `repairAccount` gives it.
local function newGeneration() return math.floor(redisNow() / 1000) * GENERATIONS_OF_A_GRANT end

-- Whatever is under way with the tokens of before is refused from here on.
local function moveGeneration()
  local before = generationIn(redis.call('HGET', ACCOUNT, 'generation'))
  redis.call('HSET', ACCOUNT, 'generation', (before or newGeneration()) + 1)
end

-- changes: { { field, state as it was read ('' = none), state from now on ('' = none) }, ... }
local function alertsAreAsRead(changes)
  for _, change in ipairs(changes) do
    if not isAsRead(redis.call('HGET', alertsKey(), change[1]) or '', change[2]) then return false end
  end
  return true
end

local function writeAlerts(hubId, writes)
  for _, change in ipairs(writes.changes) do
    if change[3] == '' then redis.call('HDEL', alertsKey(), change[1])
    else redis.call('HSET', alertsKey(), change[1], change[3]) end
  end
  appendTransitions(AT, transitionsKey(), writes.entries)
  if #writes.changes > 0 then
    if redis.call('EXISTS', alertsKey()) == 1 then redis.call('SADD', alertingKey(), hubId)
    else redis.call('SREM', alertingKey(), hubId) end
  end
end
