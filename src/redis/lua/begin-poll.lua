--!include take-share
-- What a poll starts from, and its first calls from the account's share: one step in the place of six commands. It makes
-- the names of its few keys itself.
-- ARGV: with spaces between: now, calls wanted at once (0 = none), calls allowed, window (ms).
-- Returns {} for an account that is not to be polled, else { lines: the fields below, calls granted, when the pause of
-- the account ends, whether there are samples (0, 1); access token; forecast; readings; then names and states of alerts }.
-- Calls are only taken where the account can be polled at once: its token lasts for a call, and whose it is is known.
-- One text of all that is text: of many the reading costs more than the asking.
local AT, OF = string.match(KEYS[1], '^(.*}):account:(%d+)$')
local now, wanted, allowed, window = string.match(ARGV[1], '^(%d+) (%d+) (%d+) (%d+)$')
now, wanted = tonumber(now), tonumber(wanted)
local a = redis.call('HMGET', KEYS[1], 'state', 'expiresAt', 'obtainedAt', 'metadataDue', 'hubDomain', 'generation',
  'polls', 'polledAt', 'pollFailures', 'disagreed', 'companionsAwayUntil', 'pairsSeen', 'pollFailingSince',
  'pollBlockedSince', 'changedAt', 'pollBecause', 'seen', 'typesLeftOut', 'gaps')
local state, expiresAt, obtainedAt, metadataDue = a[1], tonumber(a[2]), tonumber(a[3]), a[4]
if not state or state == 'uninstalling' or state == 'uninstalled' or state == 'reauthorize' then return {} end
for place = 1, 19 do a[place] = a[place] or '' end
-- A line for each, whatever a stranger calls his domain.
a[5] = string.gsub(a[5], '\n', ' ')
local access = redis.call('HGET', AT .. ':tokens:' .. OF, 'access')
local texts = redis.call('MGET', AT .. ':paused:' .. OF, AT .. ':forecast:' .. OF, AT .. ':readings:' .. OF)
local granted, wait, pausedUntil = 0, 0, 0
local lasts = access and expiresAt and obtainedAt and expiresAt - now > math.min(10000, (expiresAt - obtainedAt) / 10)
if wanted > 0 and lasts and metadataDue ~= '1' then
  granted, wait, pausedUntil = takeShare(AT .. ':calls:' .. OF, texts[1], now, wanted, tonumber(allowed), tonumber(window))
end
a[20], a[21], a[22] = granted, string.format('%.0f', pausedUntil), redis.call('EXISTS', AT .. ':samples:' .. OF)
local answer = { table.concat(a, '\n'), access, texts[2], texts[3] }
for place, part in ipairs(redis.call('HGETALL', AT .. ':alerts:' .. OF)) do answer[4 + place] = part end
return answer
