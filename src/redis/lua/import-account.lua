--!include account-step
-- Takes in an account with its refresh token alone: no access token yet, refreshed now, polled once it is known whose
-- token it is.
-- One that is known keeps what it has, because its tokens may have been refreshed since the file was written; with
-- `replace` it is overwritten, and the generation moves on, so that a refresh under way can't write over it.
-- KEYS: one more at the end, highest generation that was forgotten with its account.
-- ARGV: hubId, now, refresh token, 'replace' or '', fields of the account (JSON), operation.
-- Returns 'imported' | 'kept' | 'uninstalled' (known, and kept so) | 'replaced'.
local hubId, now, refresh, replace, fields = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == 'replace', cjson.decode(ARGV[5])
local operation = ARGV[6]

local before = answerBefore(operation)
if before then return before end
local state = redis.call('HGET', ACCOUNT, 'state')
if state and not replace then return isLive(state) and 'kept' or 'uninstalled' end
redis.call('DEL', tokensKey())
redis.call('HSET', tokensKey(), 'refresh', refresh)
redis.call('HDEL', ACCOUNT, 'refreshedAt', 'grantedAt')
forgetTroubles()
redis.call('HSETNX', ACCOUNT, 'firstConnectedAt', fields.connectedAt or now)
redis.call('HSET', ACCOUNT, 'obtainedAt', 0, 'expiresAt', 0)
beginGrant(KEYS[2], operation)
setFields(fields)
setState(hubId, 'active')
redis.call('ZADD', dueKey('refresh'), now, hubId)
stopPolling(hubId)
redis.call('HSET', ACCOUNT, 'firstReadingDue', '1')
redis.call('ZADD', firstReadingsKey(), 1, hubId)
redis.call('ZREM', dueKey('uninstall'), hubId)
return answerWith(operation, state and 'replaced' or 'imported')
