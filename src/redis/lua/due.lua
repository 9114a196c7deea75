-- Due work, and claims on it.

--!step claimDue
-- Claims what is due: each one's next moment becomes the end of the claim, so that a crash loses nothing - what a dead
-- worker held is due again by itself.
-- KEYS: due set. ARGV: now, most to claim, end of the claims, and the moment after which it was due, where that matters.
-- Returns { { hubId, ... } nearest to its moment first, the earliest moment that remains or '' }.
local claimed = redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[4] or '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
local moved = {}
for n, hubId in ipairs(claimed) do moved[2 * n - 1], moved[2 * n] = ARGV[3], hubId end
if #moved > 0 then redis.call('ZADD', KEYS[1], unpack(moved)) end
return { claimed, redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2] or '' }

--!step moveClaim
-- Plans a claimed account. What was claimed again since, or has another plan, is left as it is.
-- KEYS: due set. ARGV: hubId, the claim, the moment from now on. Returns 1 where it was the caller's.
if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or '') ~= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
return 1

--!step claimAccounts
--!include redis-now
-- Claims accounts that are due, those that have been for longest first. A claim is the account's score: until when it lasts, by the clock
-- of Redis, with a fraction that no plan has. So what a dead worker had is due again by itself.
-- KEYS: due set. ARGV: most to claim, how long it lasts (ms), fraction. Returns { the claim, hubId, ... }.
local now = redisNow()
local claim = string.format('%.17g', now + ARGV[2] + ARGV[3])
local claimed = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
local moved = {}
for n, hubId in ipairs(claimed) do moved[2 * n - 1], moved[2 * n] = claim, hubId end
if #moved > 0 then redis.call('ZADD', KEYS[1], unpack(moved)) end
return { claim, unpack(claimed) }

--!step claimAccount
--!include redis-now
-- Claims one account, due or not: a caller waits for it.
-- KEYS: due set. ARGV: hubId, how long it lasts (ms), fraction.
-- Returns 'gone' (not planned at all) | 'held' (another worker has it) | { the claim, its score before }.
local now, before = redisNow(), redis.call('ZSCORE', KEYS[1], ARGV[1])
if not before then return 'gone' end
if tonumber(before) > now and tonumber(before) % 1 > 0 then return 'held' end
local claim = string.format('%.17g', now + ARGV[2] + ARGV[3])
redis.call('ZADD', KEYS[1], claim, ARGV[1])
return { claim, before }

--!step dueTokens
--!include read-fields
-- Accounts whose tokens are due, with the fields to choose among them. Drops what is no account: it would be overdue for good.
-- KEYS: due set. ARGV: first and last place in it, prefix of account keys.
-- Returns, as one text with commas between: hubId, obtainedAt, expiresAt, failures, refreshedAt, 'active' or '', ... Separate texts
--   cost the reader three times as much.
local found = {}
for _, hubId in ipairs(redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[2])) do
  if #hubId > 16 or not string.find(hubId, '^[1-9]%d*$') then redis.call('ZREM', KEYS[1], hubId)
  else
    local a = fieldsOf(ARGV[3] .. hubId, 'obtainedAt', 'expiresAt', 'failures', 'refreshedAt', 'state')
    found[#found + 1] = hubId
    for n = 1, 4 do found[#found + 1] = numberIn(a[n]) and a[n] or '' end
    found[#found + 1] = a[5] == 'active' and 'active' or ''
  end
end
return table.concat(found, ',')

--!step claimTokens
-- Claims chosen accounts, as far as they are still due: each one's next moment becomes the end of the claim, so that a
-- crash loses nothing - what a dead worker held is due again by itself.
-- KEYS: due set. ARGV: now, then hubId and end of the claim of each.
-- Returns the hubIds that were claimed.
local due, now = KEYS[1], tonumber(ARGV[1])
-- Most arguments that are safely handed to one command.
local CHUNK = 500

local claimed = {}
for first = 2, #ARGV, 2 * CHUNK do
  local asked, moved = {}, {}
  for n = first, math.min(first + 2 * CHUNK - 1, #ARGV), 2 do asked[#asked + 1] = ARGV[n] end
  for place, at in ipairs(redis.call('ZMSCORE', due, unpack(asked))) do
    if at and tonumber(at) <= now then
      moved[#moved + 1], moved[#moved + 2] = ARGV[first + 2 * place - 1], asked[place]
      claimed[#claimed + 1] = asked[place]
    end
  end
  if #moved > 0 then redis.call('ZADD', due, unpack(moved)) end
end
return claimed

--!step claimSetBack
-- One of the sweeps that find the clock set back brings forward what was planned.
-- KEYS: progress of sweeps. ARGV: now, end of the claim. Returns 1, or 0 while another has it.
local ends = tonumber(redis.call('HGET', KEYS[1], 'set-back') or '')
if ends and ends > tonumber(ARGV[1]) and ends <= tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], 'set-back', ARGV[2])
return 1

--!step countOverdue
--!include read-fields
-- How many refreshes are overdue: due for long and not taken up, or tried again and again while the token has been over
-- for as long. Those that fail are due at their next attempt, which is always soon. Reads only.
-- KEYS: due set, accounts that fail. ARGV: since when, most failing accounts to read, prefix of account keys.
-- Returns the count.
local due, failing, since, accounts = KEYS[1], KEYS[2], tonumber(ARGV[1]), ARGV[3]

local count = redis.call('ZCOUNT', due, '-inf', since)
for _, hubId in ipairs(redis.call('ZRANGE', failing, 0, ARGV[2] - 1)) do
  local at = tonumber(redis.call('ZSCORE', due, hubId) or '')
  if at and at > since then
    local a = fieldsOf(accounts .. hubId, 'expiresAt', 'failingSince')
    local over = numberIn(a[1]) or 0
    -- The account was imported, and has had no token yet.
    if over == 0 then over = numberIn(a[2]) or 0 end
    if over <= since then count = count + 1 end
  end
end
return count

--!step nearestExpiry
--!include read-fields
-- Moment at which the first of the tokens expires. An account whose refreshes fail counts as long as its token lives:
-- after that its own alert reports it. Reads only, so many accounts at a time that no other command waits long.
-- KEYS: due set. ARGV: now, first and last place in the set, nearest moment so far ('' = none), prefix of account keys.
-- Returns { the moment or '', how many accounts were read, 'over' where no other can be nearer, or '' }.
local now, nearest, accounts = tonumber(ARGV[1]), tonumber(ARGV[4]), ARGV[5]

local looked, isOver = 0, false
local some = redis.call('ZRANGE', KEYS[1], ARGV[2], ARGV[3], 'WITHSCORES')
for n = 1, #some, 2 do
  -- A refresh is due before its token ends: an account that comes now is hardly nearer. Only one that is being refreshed, or waits
  -- for its next attempt, may be, by no more than that takes.
  isOver = nearest and tonumber(some[n + 1]) >= nearest
  if isOver then break end
  looked = looked + 1
  local account = accounts .. some[n]
  local at = numberIn(fieldsOf(account, 'expiresAt')[1]) or 0
  -- Hardly any is nearer than what was found: only of those the state is read.
  if at > 0 and (not nearest or at < nearest) then
    local state = redis.call('HGET', account, 'state')
    if state == 'active' or (state == 'failing' and at > now) then nearest = at end
  end
end
return { nearest and string.format('%d', nearest) or '', looked, isOver and 'over' or '' }
