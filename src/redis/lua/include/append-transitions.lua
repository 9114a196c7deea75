-- Most transitions of the log. One takes some 0.7 kB there: 35 MB once it is full.
local MOST_LOGGED = 50000
local MOST_OF_ACCOUNT = 200

-- A place in the log that no entry had before. A node that took over, with writes lost and its clock behind, sees the
-- same millisecond again: a hash of the entry is part of the place. Places of one millisecond add up, far below 2^53.
local function placeInLog(log, entry)
  local at, n = redisNow(), tonumber(string.sub(redis.sha1hex(entry), 1, 6), 16)
  local newest = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
  local lastAt, lastN = string.match(newest and newest[1] or '0-0', '(%d+)-(%d+)')
  if tonumber(lastAt) >= at then at, n = lastAt, lastN + 1 + n end
  return string.format('%.0f-%.0f', at, n)
end

-- Appends transitions of alerts (`AT`: prefix of all keys), as `encodeEntry` makes them: each goes to the log, and is the news
-- of its alert in the place of the one before. News: place in the log, number of the transition up to which it was decided
-- what each receiver is sent, receivers that know of the alert ('-' = none), whether the alert began with a first
-- reading, and the entry. Unsent from now on, or since an earlier one of the alert is.
-- `own`: key of the places of the account's own newest ones.
local function appendTransitions(AT, own, entries)
  local log, news = AT .. ':transitions', AT .. ':news'
  for _, encoded in ipairs(entries) do
    local id, entry = string.match(encoded, '^(%S+) (.*)$')
    local alert, number = string.match(id, '^(.*)%-(%d+)$')
    alert = alert or id
    local place = redis.call('XADD', log, 'MAXLEN', '~', MOST_LOGGED, placeInLog(log, entry), 'alert', entry)
    redis.call('RPUSH', own, place)
    redis.call('LTRIM', own, -MOST_OF_ACCOUNT, -1)
    local before = redis.call('HGET', news, alert)
    local decided, to, first = string.match(before or '', '^%S+ (%d+) (%S+) (%d) ')
    decided = decided or (number or 1) - 1
    first = first or (string.find(entry, '"firstReading":true', 1, true) and 1 or 0)
    redis.call('HSET', news, alert, table.concat({ place, decided, to or '-', first, entry }, ' '))
    redis.call('ZADD', AT .. ':unsent', 'NX', redisNow(), alert)
  end
end
