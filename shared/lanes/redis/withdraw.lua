-- Withdraws a request whose client has gone. If no worker has taken it, it never runs; otherwise says who runs it.
--
-- KEYS lane
-- ARGV group, entryId
--
-- Returns '' (withdrawn, or already finished) or the consumer's name.

-- Before the first worker ever starts there is no group, and XPENDING answers with an error.
local pending = redis.pcall('XPENDING', KEYS.lane, ARGV.group, ARGV.entryId, ARGV.entryId, 1)
if not pending.err and #pending > 0 then return pending[1][2] end
redis.call('XDEL', KEYS.lane, ARGV.entryId)
return ''
