-- Calls that were taken have been answered: the provider counted each at some moment in between, so they count from here on.
-- KEYS: list of the last calls' times. ARGV: when they were taken, how many, now, window (ms).
local taken, calls, now, window = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
redis.call('LREM', KEYS[1], calls, taken)
for _ = 1, calls do redis.call('RPUSH', KEYS[1], now) end
return redis.call('PEXPIRE', KEYS[1], window)
