-- Puts an alert into the group that one receiver will get. Collecting it twice is collecting it once: the relay may die
-- between this step and taking the alert off its outbox.
-- KEYS: collected, group, state of the group, groups due.
-- ARGV: receiver and alert id, group, alert (JSON), now, wait, interval (ms), 'digest' | 'urgent' | 'normal',
--   how long ids are remembered (ms).
-- Returns when the group closes, ms, or '' if the alert was there already.
local id, group, alert, now = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local wait, interval, pace, remember = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7], tonumber(ARGV[8])

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - remember)
if redis.call('ZADD', KEYS[1], 'NX', now, id) == 0 then return '' end
redis.call('RPUSH', KEYS[2], alert)
local planned = tonumber(redis.call('ZSCORE', KEYS[4], group) or '')
local closes
if pace == 'digest' then
  -- Settled: nothing new for as long as `wait`, but never later than `interval` after the first.
  local openedAt = tonumber(redis.call('HGET', KEYS[3], 'openedAt') or '')
  if not planned or not openedAt then
    openedAt = now
    redis.call('HSET', KEYS[3], 'openedAt', now)
  end
  closes = math.max(now, math.min(now + wait, openedAt + interval))
elseif pace == 'urgent' then
  closes = math.min(planned or now + wait, now + wait)
else
  local closedAt = tonumber(redis.call('HGET', KEYS[3], 'closedAt') or '0')
  closes = planned or math.max(now + wait, closedAt + interval)
end
redis.call('ZADD', KEYS[4], closes, group)
return closes
