-- Which of these entries the lane has no longer, whether a worker has them or none.
--
-- KEYS 1 lane   ARGV 1 consumer group  2… entry ids
-- Returns the ids.

local gone = {}
for i = 2, #ARGV do
  local id = ARGV[i]
  -- Of an entry that a worker has, nothing needs to be read. Before the first worker ever starts there is no group.
  local pending = redis.pcall('XPENDING', KEYS[1], ARGV[1], id, id, 1)
  if pending.err or #pending == 0 then
    if #redis.call('XRANGE', KEYS[1], id, id) == 0 then gone[#gone + 1] = id end
  end
end
return gone
