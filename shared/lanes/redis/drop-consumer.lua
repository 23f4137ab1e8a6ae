-- Forgets a dead consumer once it holds nothing. With entries left, XGROUP DELCONSUMER would lose them.
--
-- KEYS 1 lane   ARGV 1 consumer group  2 consumer

local pending = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2])
if #pending > 0 then return 0 end
redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
return 1
