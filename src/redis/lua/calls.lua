-- An account's share of the provider's bucket.

--!step takeCalls
--!include take-share
-- The account's share of the provider's bucket: a window that slides over the last calls of all workers.
-- KEYS: list of the last calls' times. An account's has a key beside it: until when no call is made for it at all.
-- ARGV: now, calls wanted, calls allowed, window (ms).
-- Returns { calls granted now, ms until the next one, when the pause ends (0 = there is none) }.
local at, of = string.match(KEYS[1], '^(.*}):calls:(%d+)$')
local pause = at and redis.call('GET', at .. ':paused:' .. of)
return { takeShare(KEYS[1], pause, tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])) }

--!step settleCalls
-- Calls that were taken have been answered: the provider counted each at some moment in between, so they count from here on.
-- KEYS: list of the last calls' times. ARGV: when they were taken, how many, now, window (ms).
local taken, calls, now, window = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
redis.call('LREM', KEYS[1], calls, taken)
for _ = 1, calls do redis.call('RPUSH', KEYS[1], now) end
return redis.call('PEXPIRE', KEYS[1], window)

--!step pauseCalls
-- Nobody calls for the account before a moment. Never shortened: whoever was told the longer wait knows more.
-- KEYS: until when no call is made. ARGV: now, until.
local now, untilMs = tonumber(ARGV[1]), tonumber(ARGV[2])
if untilMs > now and untilMs > (tonumber(redis.call('GET', KEYS[1])) or 0) then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', untilMs - now)
end
return 0
