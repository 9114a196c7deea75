-- Steps that bring data of an older version up to date. A step that was done before does nothing.

--!step moveAccess
--!include account-step
-- The access token leaves the hash of tokens. Returns how many were moved.
local access = redis.call('HGET', tokensKey(), 'access')
if not access then return 0 end
renewAccess(access)
return redis.call('HDEL', tokensKey(), 'access')

--!step moveWatch
--!include account-step
-- Moves the state of an account's polls from its record and its readings into one value, see `version-3.ts`. Returns
-- how many were moved.
local FIELDS = { 'polls', 'polledAt', 'pollFailures', 'pollFailureReason', 'pollFailureAt', 'pollFailingSince', 'pollBlocked',
  'pollBlockedSince', 'pollBlockedScopes', 'changedAt', 'pollBecause', 'seen', 'typesLeftOut', 'gaps', 'notAvailable', 'bucket',
  'disagreed', 'companionsAwayUntil', 'pairsSeen', 'firstReadingDue' }
local KEPT_MS = 30 * 86400000
local readingsKey, callsKey = AT .. ':readings:' .. OF, AT .. ':calls:' .. OF

-- A record that is something else has none: the account's own work finds it.
local values, fields, isAny = redis.pcall('HMGET', ACCOUNT, unpack(FIELDS)), {}, false
for place, name in ipairs(FIELDS) do
  if values[place] then fields[name], isAny = values[place], true end
end
local readings = redis.pcall('GET', readingsKey)
if type(readings) == 'table' then
  -- Readings of another type are put aside, as the account's own work would.
  redis.call('RENAME', readingsKey, readingsKey .. ':unreadable')
  redis.call('PEXPIRE', readingsKey .. ':unreadable', KEPT_MS)
  readings = false
end
redis.call('DEL', callsKey)
if not isAny and not readings then return 0 end
local samples, left = redis.pcall('GETRANGE', samplesKey(), 1, 6), redis.call('PTTL', samplesKey())
if type(samples) == 'string' and #samples == 6 and left > 0 then
  local readAt = 0
  for place = 1, 6 do readAt = readAt * 256 + string.byte(samples, place) end
  fields.recordsReadAt, fields.recordsUntil = string.format('%.0f', readAt), string.format('%.0f', redisNow() + left)
end
-- One that waits for its first reading begins anew.
local mark = fields.firstReadingDue and 's' or '1'
local head = string.format('%sversion3 {"polledAt":%s,"fields":', mark, string.match(fields.polledAt or '', '^%d+$') or '0')
redis.call('SET', watchKey(), head .. cjson.encode(fields) .. '}\n' .. (readings or ''))
redis.call('DEL', readingsKey)
if isAny then redis.call('HDEL', ACCOUNT, unpack(FIELDS)) end
return 1
