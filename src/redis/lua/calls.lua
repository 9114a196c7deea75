-- Pauses that the provider asks for.

--!step pauseCalls
-- Pauses all calls for the account until a moment. Never shortened: the longer wait is by the newer answer.
-- KEYS: until when no call is made. ARGV: now, until.
local now, untilMs = tonumber(ARGV[1]), tonumber(ARGV[2])
if untilMs > now and untilMs > (tonumber(redis.call('GET', KEYS[1])) or 0) then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', untilMs - now)
end
return 0
