-- Takes calls from the window that slides over the last ones: returns how many are granted now, ms until the next one, when
-- a pause ends (0 = there is none). `paused`: the key that says until when no call is made at all.
local function takeShare(calls, paused, now, wanted, allowed, window)
  local pausedUntil = paused and tonumber(redis.call('GET', paused)) or 0
  if pausedUntil > now then return 0, pausedUntil - now, pausedUntil end
  local held, granted, wait = redis.call('LLEN', calls), {}, 0
  while #granted < wanted do
    if held + #granted >= allowed then
      local first = held > 0 and redis.call('LINDEX', calls, 0) or now
      wait = first + window - now
      -- A time that lies further ahead than daemons' clocks differ is from before a clock was set back: nobody waits for it.
      if wait > 0 and wait <= 2 * window then break end
      redis.call('LPOP', calls)
      held, wait = held - 1, 0
    end
    granted[#granted + 1] = now
  end
  if #granted > 0 then redis.call('RPUSH', calls, unpack(granted)) end
  redis.call('PEXPIRE', calls, window)
  return #granted, wait, 0
end
