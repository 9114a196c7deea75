-- All alerts that wait, in a group or held back, are due now, in one command for each receiver. Whoever has read what holds them
-- back finds that it has changed.
local function recheckWaiting(AT)
  redis.call('INCR', AT .. ':hold-changes')
  for _, receiver in ipairs(redis.call('ZRANGE', AT .. ':receivers', 0, -1)) do
    for _, kind in ipairs({ ':held:', ':grouped:' }) do
      local key = AT .. kind .. receiver
      redis.call('ZUNIONSTORE', key, 1, key, 'WEIGHTS', 0)
    end
  end
end
