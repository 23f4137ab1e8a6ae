-- Forgets a dead consumer once it holds nothing. With entries left, XGROUP DELCONSUMER would lose them.
--
-- KEYS lane
-- ARGV group, consumer

local pending = redis.call('XPENDING', KEYS.lane, ARGV.group, '-', '+', 1, ARGV.consumer)
if #pending > 0 then return 0 end
redis.call('XGROUP', 'DELCONSUMER', KEYS.lane, ARGV.group, ARGV.consumer)
return 1
