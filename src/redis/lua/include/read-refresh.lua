-- Reads all that a refresh of a claimed account needs. A claim that was due again is of a worker that died: its answer may be lost.
-- `before`: its score before; `ms`: how long a claim lasts.
-- Returns { hubId } where it is not to be refreshed | { hubId, lines: the account's state, version, obtainedAt, expiresAt, failures,
--   rejectedAt, refreshedAt, retryAt, when a worker died at it or '', whether it is to be asked whose it is ('1', '2' = its tokens may be
--   of another account, or ''), open token alert or '', hubDomain; refresh token; those before that are kept }. One text of all that is
--   text: of fifteen the reading cost more than the asking.
local function readRefresh(hubId, before, ms)
  standAt(AT .. ':account:' .. hubId)
  local a = redis.call('HMGET', ACCOUNT, 'state', 'hubDomain', 'version', 'obtainedAt', 'expiresAt', 'failures',
    'rejectedAt', 'refreshedAt', 'retryAt', 'interruptedAt', 'tokenOf', 'metadataDue')
  if not isLive(a[1]) then redis.call('ZREM', dueKey('refresh'), hubId) end
  -- Redeeming another account's refresh token could end it there.
  if not isLive(a[1]) or a[11] then return { hubId } end
  local interruptedAt = a[10] or ''
  if tonumber(before) % 1 > 0 then
    interruptedAt = string.format('%.0f', math.floor(before) - ms)
    -- Kept until a refresh works or the account is connected again, whatever refresh finds it, and whatever its outcome.
    redis.call('HSET', ACCOUNT, 'interruptedAt', interruptedAt)
  end
  local metadataDue = a[12] and (redis.call('HEXISTS', tokensKey(), 'scopes') == 1 and '1' or '2') or ''
  local lines = table.concat({ a[1], a[3] or '', a[4] or '0', a[5] or '', a[6] or '0', a[7] or '', a[8] or '', a[9] or '', interruptedAt,
    metadataDue, redis.call('HGET', alertsKey(), 'token') or '', a[2] or '' }, '\n')
  return { hubId, lines, redis.call('HGET', tokensKey(), 'refresh') or '', unpack(previousTokens()) }
end
