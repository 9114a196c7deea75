--!include take-share
-- What a poll starts from, and its first calls from the account's share: one step in the place of six commands. It makes
-- the names of its few keys itself.
-- ARGV: now, calls wanted at once (0 = none), calls allowed, window (ms).
-- Returns {} for an account that is not to be polled, else { packed: { fields: those below that there are; granted: calls;
-- pausedUntil: when the pause of the account ends (0 = there is none); hasSamples: 0, 1; alerts: names and states in turns },
-- access token, forecast, readings }.
-- Calls are only taken where the account can be polled at once: its token lasts for a call, and whose it is is known.
local FIELDS = { 'state', 'expiresAt', 'obtainedAt', 'metadataDue', 'hubDomain', 'generation', 'polls', 'polledAt',
  'pollFailures', 'disagreed', 'companionsAwayUntil', 'pairsSeen', 'pollFailingSince', 'pollBlockedSince', 'changedAt',
  'pollBecause', 'seen', 'typesLeftOut', 'gaps' }
local AT, OF = string.match(KEYS[1], '^(.*}):account:(%d+)$')
local now, wanted, allowed, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local a, values = {}, redis.call('HMGET', KEYS[1], unpack(FIELDS))
for place, name in ipairs(FIELDS) do a[name] = values[place] or nil end
if not a.state or a.state == 'uninstalling' or a.state == 'uninstalled' or a.state == 'reauthorize' then return {} end
local expiresAt, obtainedAt = tonumber(a.expiresAt), tonumber(a.obtainedAt)
local access = redis.call('HGET', AT .. ':tokens:' .. OF, 'access')
local texts = redis.call('MGET', AT .. ':paused:' .. OF, AT .. ':forecast:' .. OF, AT .. ':readings:' .. OF)
local granted, wait, pausedUntil = 0, 0, 0
local lasts = access and expiresAt and obtainedAt and expiresAt - now > math.min(10000, (expiresAt - obtainedAt) / 10)
if wanted > 0 and lasts and a.metadataDue ~= '1' then
  granted, wait, pausedUntil = takeShare(AT .. ':calls:' .. OF, texts[1], now, wanted, allowed, window)
end
local hasSamples, alerts = redis.call('EXISTS', AT .. ':samples:' .. OF), redis.call('HGETALL', AT .. ':alerts:' .. OF)
local packed = { fields = a, granted = granted, pausedUntil = pausedUntil, hasSamples = hasSamples, alerts = alerts }
return { cmsgpack.pack(packed), access, texts[2], texts[3] }
