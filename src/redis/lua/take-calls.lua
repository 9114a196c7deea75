-- The account's share of the provider's bucket: a window that slides over the last calls of all workers.
-- KEYS: list of the last calls' times. ARGV: now, calls wanted, calls allowed, window (ms).
-- Returns { calls granted now, ms until the next one }.
local now, wanted, allowed, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local granted = 0
while granted < wanted do
  if redis.call('LLEN', KEYS[1]) >= allowed then
    local wait = redis.call('LINDEX', KEYS[1], 0) + window - now
    if wait > 0 then
      redis.call('PEXPIRE', KEYS[1], window)
      return { granted, wait }
    end
    redis.call('LPOP', KEYS[1])
  end
  redis.call('RPUSH', KEYS[1], now)
  granted = granted + 1
end
redis.call('PEXPIRE', KEYS[1], window)
return { granted, 0 }
