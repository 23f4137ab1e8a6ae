-- Ends an idempotency claim that request ARGV[1] holds, and returns the requests that wait for it; or, when the delivery
-- that would end it no longer holds its entry, nothing but that.
--
-- KEYS 1 claim  2 waiters  3 stored answer of the delivery that ends it  4 lane of the entry
-- ARGV 1 request id  2 'done' (answer stored, keep it) or 'freed' (failed: the key may be used again)
--      3 the receipt's bytes, when done  4 life of a stored answer, s
--      5 the delivery that answered  6 where its answer is: 'redis' or 'postgres'
--      7 consumer group  8 entry id  9 consumer  10 number of the entry's delivery
--
-- Returns {'held' | 'taken' | 'gone', waiter, …}

local standing = holding(KEYS[4], ARGV[7], ARGV[8], ARGV[9], ARGV[10])
if standing ~= 'held' or redis.call('HGET', KEYS[1], 'rid') ~= ARGV[1] then return { standing } end
if ARGV[2] == 'done' then
  redis.call('HSET', KEYS[1], 'state', 'done', 'receipt', ARGV[3], 'attempt', ARGV[5], 'kept', ARGV[6])
  redis.call('EXPIRE', KEYS[1], tonumber(ARGV[4]))
  if ARGV[6] == 'redis' then redis.call('EXPIRE', KEYS[3], tonumber(ARGV[4]))
  else redis.call('DEL', KEYS[3]) end
else
  redis.call('DEL', KEYS[1], KEYS[3])
end
local waiting = redis.call('LRANGE', KEYS[2], 0, -1)
-- The worker that ends a claim may die before it has told them. The next one ends it again and tells them; twice does no harm.
if ARGV[2] == 'done' then redis.call('EXPIRE', KEYS[2], 60) else redis.call('DEL', KEYS[2]) end
table.insert(waiting, 1, standing)
return waiting
