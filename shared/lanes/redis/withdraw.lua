-- Withdraws a request whose client has gone. If no worker has taken it, it never runs; otherwise says who runs it.
--
-- KEYS 1 lane   ARGV 1 consumer group  2 entry id
-- Returns '' (withdrawn, or already finished) or the consumer's name.

-- Before the first worker ever starts there is no group, and XPENDING answers with an error.
local pending = redis.pcall('XPENDING', KEYS[1], ARGV[1], ARGV[2], ARGV[2], 1)
if not pending.err and #pending > 0 then return pending[1][2] end
redis.call('XDEL', KEYS[1], ARGV[2])
return ''
