-- What every step on an account shares. KEYS[1] is the account's own, and declares the slot; the names of its others and
-- of its partition's, all of that slot, are made here as `keys.ts` makes them.
local AT, OF, ACCOUNT, TOKENS, LEASE, READINGS, HISTORY, ALERTS, SAMPLES, FORECAST
local ALERTING, OUTBOX, SEQUENCE, LOG, DUE_REFRESH, DUE_POLL, DUE_UNINSTALL
local FRESH, POLL_FAILING, NEAREST, DOMAINS_VERSION
-- Of each partition's log. A transition takes some 0.7 kB there: 45 MB for all 64 partitions, once they are full.
local MOST_LOGGED = 1000

-- All below is about this account. A call for many goes from one to the next with it.
local function standAt(account)
  AT, OF = string.match(account, '^(.*}):account:(%d+)$')
  ACCOUNT, TOKENS, LEASE = account, AT .. ':tokens:' .. OF, AT .. ':lease:' .. OF
  READINGS, HISTORY, ALERTS = AT .. ':readings:' .. OF, AT .. ':history:' .. OF, AT .. ':alerts:' .. OF
  SAMPLES, FORECAST = AT .. ':samples:' .. OF, AT .. ':forecast:' .. OF
  ALERTING, OUTBOX = AT .. ':alerting', AT .. ':outbox'
  SEQUENCE, LOG = AT .. ':sequence', AT .. ':log'
  DUE_REFRESH, DUE_POLL, DUE_UNINSTALL = AT .. ':due:refresh', AT .. ':due:poll', AT .. ':due:uninstall'
  FRESH, POLL_FAILING = AT .. ':fresh', AT .. ':poll-failing'
  NEAREST, DOMAINS_VERSION = AT .. ':nearest', AT .. ':domains-version'
end
standAt(KEYS[1])

local function inState(state)
  return AT .. ':accounts:' .. state
end

local function isLive(state)
  return state and state ~= 'uninstalling' and state ~= 'uninstalled'
end

local function setState(hubId, to)
  local from = redis.call('HGET', ACCOUNT, 'state')
  if from == to then return end
  if from then redis.call('ZREM', inState(from), hubId) else redis.call('INCR', DOMAINS_VERSION) end
  redis.call('HSET', ACCOUNT, 'state', to)
  redis.call('ZADD', inState(to), hubId, hubId)
end

local function setFields(fields)
  if fields.hubDomain and fields.hubDomain ~= redis.call('HGET', ACCOUNT, 'hubDomain') then
    redis.call('INCR', DOMAINS_VERSION)
  end
  for name, value in pairs(fields) do
    if value == '' then redis.call('HDEL', ACCOUNT, name) else redis.call('HSET', ACCOUNT, name, value) end
  end
end

-- A new start: whatever went wrong with the tokens and the installation from before says nothing about these.
local function forgetTroubles()
  redis.call('HDEL', ACCOUNT, 'failures', 'failureClass', 'failureReason', 'failureAt', 'failingSince', 'rejectedAt',
    'retryAt', 'parkedUntil', 'refreshing', 'interruptedAt', 'tokenOf', 'metadataDue', 'companionsAwayUntil',
    'pollFailures', 'pollFailureReason', 'pollFailureAt', 'pollFailingSince', 'pollBlocked', 'pollBlockedSince',
    'pollBlockedScopes', 'pollBecause', 'uninstallAskedAt', 'uninstallReason', 'uninstallBy',
    'uninstallAttempts', 'uninstallFailureReason', 'uninstallFailureAt', 'uninstalledAt', 'uninstallEnding', 'purgeAt')
  redis.call('ZREM', POLL_FAILING, OF)
end

-- The account is polled, next at `at`. Until it was read for the first time, it counts as read when that began.
local function startPolling(hubId, at, now)
  redis.call('ZADD', DUE_POLL, at, hubId)
  redis.call('ZADD', FRESH, 'NX', now, hubId)
end

-- It is not polled any more: nobody waits for a reading of it.
local function stopPolling(hubId)
  redis.call('ZREM', DUE_POLL, hubId)
  redis.call('ZREM', FRESH, hubId)
  redis.call('ZREM', POLL_FAILING, hubId)
  redis.call('ZREM', NEAREST, hubId)
end

-- What a poll says of how the account is watched. One whose scopes let nothing be read is no gap in what is read.
local function noteReading(hubId, freshAt, fields)
  if freshAt ~= '' then redis.call('ZADD', FRESH, freshAt, hubId)
  elseif fields.pollBlocked == 'all' then redis.call('ZREM', FRESH, hubId) end
  if (fields.pollFailingSince or '') ~= '' then redis.call('ZADD', POLL_FAILING, fields.pollFailingSince, hubId)
  else redis.call('ZREM', POLL_FAILING, hubId) end
end

local function releaseLease(owner)
  if redis.call('GET', LEASE) == owner then redis.call('DEL', LEASE) end
end

-- Takes away the note of a refresh under way, if it is the owner's.
local function endRefreshing(owner)
  local note = redis.call('HGET', ACCOUNT, 'refreshing')
  if note and string.match(note, '^%S+') == owner then redis.call('HDEL', ACCOUNT, 'refreshing') end
end

-- changes: { { field, state as it was read ('' = none), state from now on ('' = none) }, ... }
local function alertsAreAsRead(changes)
  for _, change in ipairs(changes) do
    if (redis.call('HGET', ALERTS, change[1]) or '') ~= change[2] then return false end
  end
  return true
end

-- Every transition gets the partition's next number: what is missing later can be told by it.
local function commitEntry(entry)
  local number = redis.call('INCR', SEQUENCE)
  redis.call('XADD', OUTBOX, '*', 'alert', entry, 'number', number)
  redis.call('XADD', LOG, 'MAXLEN', '~', MOST_LOGGED, '*', 'alert', entry, 'number', number)
end

local function writeAlerts(hubId, writes)
  for _, change in ipairs(writes.changes) do
    if change[3] == '' then redis.call('HDEL', ALERTS, change[1])
    else redis.call('HSET', ALERTS, change[1], change[3]) end
  end
  for _, entry in ipairs(writes.entries) do
    commitEntry(entry)
  end
  if #writes.changes > 0 then
    if redis.call('EXISTS', ALERTS) == 1 then redis.call('SADD', ALERTING, hubId)
    else redis.call('SREM', ALERTING, hubId) end
  end
end
