-- The account's share of the provider's bucket: a window that slides over the last calls of all workers.
-- KEYS: list of the last calls' times. An account's has a key beside it: until when no call is made for it at all.
-- ARGV: now, calls wanted, calls allowed, window (ms).
-- Returns { calls granted now, ms until the next one, when the pause ends (0 = there is none) }.
local now, wanted, allowed, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local at, of = string.match(KEYS[1], '^(.*}):calls:(%d+)$')
local pausedUntil = at and tonumber(redis.call('GET', at .. ':paused:' .. of)) or 0
if pausedUntil > now then return { 0, pausedUntil - now, pausedUntil } end
local granted = 0
while granted < wanted do
  if redis.call('LLEN', KEYS[1]) >= allowed then
    local wait = redis.call('LINDEX', KEYS[1], 0) + window - now
    -- A time that lies further ahead than daemons' clocks differ is from before a clock was set back: nobody waits for it.
    if wait > 0 and wait <= 2 * window then
      redis.call('PEXPIRE', KEYS[1], window)
      return { granted, wait, 0 }
    end
    redis.call('LPOP', KEYS[1])
  end
  redis.call('RPUSH', KEYS[1], now)
  granted = granted + 1
end
redis.call('PEXPIRE', KEYS[1], window)
return { granted, 0, 0 }
