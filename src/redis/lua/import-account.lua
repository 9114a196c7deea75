--!include begin-grant
-- Takes in an account with its refresh token alone: no access token yet, refreshed now, polled once it is known whose
-- token it is.
-- One that is known keeps what it has, because its tokens may have been refreshed since the file was written; with
-- `replace` it is overwritten.
-- ARGV: hubId, now, refresh token, 'replace' or '', fields of the account (JSON), operation.
-- Returns 'imported' | 'kept' | 'uninstalled' (known, and kept so) | 'replaced'.
local hubId, now, refresh, replace, fields = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == 'replace', cjson.decode(ARGV[5])
local operation = ARGV[6]

local before = answerBefore(operation)
if before then return before end
local state = redis.call('HGET', ACCOUNT, 'state')
if state and not replace then return isLive(state) and 'kept' or 'uninstalled' end
redis.call('HDEL', ACCOUNT, 'refreshedAt', 'grantedAt')
redis.call('HSETNX', ACCOUNT, 'firstConnectedAt', fields.connectedAt or now)
redis.call('HSET', ACCOUNT, 'obtainedAt', 0, 'expiresAt', 0)
beginGrant(hubId, operation, { 'refresh', refresh }, fields, now)
stopPolling(hubId)
redis.call('HSET', ACCOUNT, 'firstReadingDue', '1')
redis.call('ZADD', firstReadingsKey(), 1, hubId)
return answerWith(operation, state and 'replaced' or 'imported')
