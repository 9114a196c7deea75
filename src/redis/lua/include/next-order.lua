--!include redis-now
-- A place in the order of grants, uninstalls and imports: above the last one, whatever was done to the clock of Redis. It is no
-- earlier than that clock, so that where the last ones were lost, with a failover, the next one is above those, too.
local function nextOrder(key)
  local last = tonumber(string.match(redis.call('GET', key) or '', '^%d+$') or 0)
  local order = string.format('%.0f', math.max(last + 1, redisNow()))
  redis.call('SET', key, order)
  return order
end
