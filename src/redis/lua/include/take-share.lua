-- Takes calls from the window that slides over the last ones: returns how many are granted now, ms until the next one, when
-- a pause ends (0 = there is none). `pause`: until when no call is made at all, as stored.
local function takeShare(calls, pause, now, wanted, allowed, window)
  local pausedUntil = pause and tonumber(pause) or 0
  if pausedUntil > now then return 0, pausedUntil - now, pausedUntil end
  if wanted == 0 then return 0, 0, 0 end
  -- Text is told to Redis as it is; a number is written out anew in each place.
  local moment, granted = string.format('%.17g', now), {}
  for place = 1, wanted do granted[place] = moment end
  -- Nearly always there is room for all: one command says so and takes them.
  local held, wait = redis.call('RPUSH', calls, unpack(granted)) - wanted, 0
  if held + wanted > allowed then
    redis.call('RPOP', calls, wanted)
    granted = {}
    while #granted < wanted do
      if held + #granted >= allowed then
        local first = held > 0 and redis.call('LINDEX', calls, 0) or now
        wait = first + window - now
        -- A time that lies further ahead than daemons' clocks differ is from before a clock was set back: nobody waits for it.
        if wait > 0 and wait <= 2 * window then break end
        redis.call('LPOP', calls)
        held, wait = held - 1, 0
      end
      granted[#granted + 1] = moment
    end
    if #granted > 0 then redis.call('RPUSH', calls, unpack(granted)) end
  end
  redis.call('PEXPIRE', calls, window)
  return #granted, wait, 0
end
