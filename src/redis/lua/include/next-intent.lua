-- The first version of an intent that none had before: above the last one, whatever was done to the clock of Redis. It is no lower
-- than that clock shows, so that where the last ones were lost, with a failover, the next one is above those, too.
local function nextIntent()
  local key = AT .. ':intents'
  local last = tonumber(string.match(redis.call('GET', key) or '', '^%d+$') or 0)
  local intent = math.max(last + 1, math.floor(redisNow() / 1000))
  redis.call('SET', key, string.format('%.0f', intent))
  return intent * PER_INTENT
end
