-- Takes calls from the window that slides over the last ones: returns how many are granted now, ms until the next one, when
-- a pause ends (0 = there is none). `pause`: until when no call is made at all, as stored.
local function takeShare(calls, pause, now, wanted, allowed, window)
  local pausedUntil = pause and tonumber(pause) or 0
  if pausedUntil > now then return 0, pausedUntil - now, pausedUntil end
  if wanted == 0 then return 0, 0, 0 end
  -- Text is told to Redis as it is; a number is written out anew in each place.
  local moment, granted, wait = string.format('%.17g', now), {}, 0
  for place = 1, wanted do granted[place] = moment end
  -- Nearly always there is room for all: one command takes them and says so.
  local over = redis.call('RPUSH', calls, unpack(granted)) - allowed
  if over > 0 then
    local ended = 0
    for _, first in ipairs(redis.call('LRANGE', calls, 0, over - 1)) do
      wait = first + window - now
      -- A time that lies further ahead than daemons' clocks differ is from before a clock was set back: nobody waits for it.
      if wait > 0 and wait <= 2 * window then break end
      ended, wait = ended + 1, 0
    end
    if ended > 0 then redis.call('LPOP', calls, ended) end
    local refused = math.min(over - ended, wanted)
    if refused > 0 then redis.call('RPOP', calls, refused) end
    wanted = wanted - refused
  end
  redis.call('PEXPIRE', calls, window)
  return wanted, wait, 0
end
