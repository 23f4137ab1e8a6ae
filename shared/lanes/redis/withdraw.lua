-- Withdraws a request whose client has gone. If no worker has taken it, it never runs; otherwise says who runs it.
--
-- KEYS lane
--      and of each hard budget that it holds a part of its counter, and those that hold one
-- ARGV group, entryId
--      from MORE on, of each budget: the request, as it stands among those
--
-- Returns '' (withdrawn, or already finished) or the consumer's name.

-- Before the first worker ever starts there is no group, and XPENDING answers with an error.
local pending = redis.pcall('XPENDING', KEYS.lane, ARGV.group, ARGV.entryId, ARGV.entryId, 1)
if not pending.err and #pending > 0 then return pending[1][2] end
if redis.call('XDEL', KEYS.lane, ARGV.entryId) == 0 then return '' end
for i = MORE, #ARGV do
  local key = #KEYS - 2 * (#ARGV - i) - 1
  if redis.call('ZREM', KEYS[key + 1], ARGV[i]) == 1 then give_back(KEYS[key], ARGV[i]) end
end
return ''
