--!include note-attempt
-- What came of a test that somebody asked for. It is not tried again; one that arrived enables the receiver.
-- KEYS: log, receiver, disabled receivers. ARGV: now, id, receiver, 'delivered' | 'failed', reason, how long it took (ms),
--   what was answered ('' = nothing). Returns 'recorded' | 'enabled'.
noteAttempt(KEYS[1], KEYS[2], { at = ARGV[1], id = ARGV[2], receiver = ARGV[3], type = 'alert.test', attempt = 1,
  outcome = ARGV[4], reason = ARGV[5], ms = ARGV[6], answer = ARGV[7] })
if ARGV[4] == 'delivered' and redis.call('HDEL', KEYS[3], ARGV[3]) == 1 then return 'enabled' end
return 'recorded'
