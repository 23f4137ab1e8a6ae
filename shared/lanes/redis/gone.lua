-- Which of these entries the lane has no longer, whether a worker has them or none.
--
-- KEYS lane
-- ARGV group, and from MORE on the ids of entries
--
-- Returns the ids.

local gone = {}
for i = MORE, #ARGV do
  local id = ARGV[i]
  -- Of an entry that a worker has, nothing needs to be read. Before the first worker ever starts there is no group.
  local pending = redis.pcall('XPENDING', KEYS.lane, ARGV.group, id, id, 1)
  if pending.err or #pending == 0 then
    if #redis.call('XRANGE', KEYS.lane, id, id) == 0 then gone[#gone + 1] = id end
  end
end
return gone
