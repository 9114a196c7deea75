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
-- KEYS: due set. ARGV: hubId, the claim, the moment from now on.
if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or '') ~= tonumber(ARGV[2]) then return 0 end
return redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])

--!step claimAccounts
--!include redis-now
-- Claims accounts that are due, those that have been for longest first. A claim is the account's score: until when it lasts, by the clock
-- of Redis, with a fraction that no plan has. So what a dead worker had is due again by itself.
-- Refreshes, where more are due than may go: about three quarters of those that go are the nearest to the end of their tokens, one alone
-- with that chance. Accounts that fail, or have no token yet, may have been due for longer, by the thousand.
-- KEYS: due set. ARGV: most to claim, how long it lasts (ms), fraction, by chance, progress of sweeps, which see by the latest claim that
--   the clock was set back; with tokens that end: the set of their ends, where in it to begin (from 0, the nearest, up to 1); else '' and
--   0, and behind them members, where no others are to be claimed.
-- Returns { the claim, hubId, ... }.
local due, most, ends = KEYS[1], tonumber(ARGV[1]), ARGV[5]
-- Tokens that end soon and whose accounts are not due are passed over, but other commands wait.
local now, SHARE, READ_AT_ONCE, MOST_READ = redisNow(), 0.75, 100, 2000
local claim = string.format('%.17g', now + ARGV[2] + ARGV[3])
redis.call('HSET', ARGV[4], 'claims', math.max(now, tonumber(redis.call('HGET', ARGV[4], 'claims') or '') or 0))
local claimed = {}

local function take(hubId)
  claimed[#claimed + 1] = hubId
  redis.call('ZADD', due, claim, hubId)
end

if ends ~= '' and redis.call('ZCOUNT', due, '-inf', now) >= most then
  local wanted, first = math.floor(most * SHARE + ARGV[3]), math.floor(ARGV[6] * redis.call('ZCARD', ends))
  for from = first, first + MOST_READ - 1, READ_AT_ONCE do
    local some = redis.call('ZRANGE', ends, from, from + READ_AT_ONCE - 1)
    if #some == 0 or #claimed >= wanted then break end
    for n, at in ipairs(redis.call('ZMSCORE', due, unpack(some))) do
      if at and tonumber(at) <= now and #claimed < wanted then take(some[n]) end
    end
  end
end
local longest = {}
for n = 7, #ARGV do
  local at = redis.call('ZSCORE', due, ARGV[n])
  if at and tonumber(at) <= now then longest[#longest + 1] = ARGV[n] end
end
if #ARGV < 7 then longest = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, most - #claimed) end
for _, hubId in ipairs(longest) do take(hubId) end
return { claim, unpack(claimed) }

--!step claimAccount
--!include redis-now
-- Claims one account, due or not: a caller waits for it.
-- KEYS: due set. ARGV: hubId, how long it lasts (ms), fraction, progress of sweeps.
-- Returns 'gone' (not planned at all) | 'held' (another worker has it) | { the claim, its score before }.
local now, before = redisNow(), redis.call('ZSCORE', KEYS[1], ARGV[1])
if not before then return 'gone' end
if tonumber(before) > now and tonumber(before) % 1 > 0 then return 'held' end
local claim = string.format('%.17g', now + ARGV[2] + ARGV[3])
redis.call('HSET', ARGV[4], 'claims', math.max(now, tonumber(redis.call('HGET', ARGV[4], 'claims') or '') or 0))
redis.call('ZADD', KEYS[1], claim, ARGV[1])
return { claim, before }
