-- Ends an idempotency claim whose answer is stored, and returns the requests that wait for it; or, when the delivery that
-- would end it no longer holds its entry, nothing but that. A claim without an answer is freed by apply.lua.
--
-- KEYS 1 claim  2 waiters  3 stored answer of the delivery that ends it  4 lane of the entry
-- ARGV 1 request id, which must hold the claim  2 the receipt's bytes ('': they are where its answer is)  3 life of a stored answer, s
--      4 the delivery that answered  5 where its answer is: 'redis' or 'postgres'
--      6 consumer group  7 entry id  8 consumer  9 number of the entry's delivery
--
-- Returns {'held' | 'taken' | 'gone', waiter, …}

local standing = holding(KEYS[4], ARGV[6], ARGV[7], ARGV[8], ARGV[9])
if standing ~= 'held' or redis.call('HGET', KEYS[1], 'rid') ~= ARGV[1] then return { standing } end
-- Where the answer is was decided the first time: it may be there no longer where it would be put now.
if redis.call('HGET', KEYS[1], 'state') ~= 'done' then
  redis.call('HSET', KEYS[1], 'state', 'done', 'attempt', ARGV[4], 'kept', ARGV[5])
  if ARGV[2] ~= '' then redis.call('HSET', KEYS[1], 'receipt', ARGV[2]) end
  redis.call('EXPIRE', KEYS[1], tonumber(ARGV[3]))
  if ARGV[5] == 'redis' then redis.call('EXPIRE', KEYS[3], tonumber(ARGV[3]))
  else redis.call('DEL', KEYS[3]) end
end
local waiting = redis.call('LRANGE', KEYS[2], 0, -1)
-- The worker that ends a claim may die before it has told them. The next one ends it again and tells them; twice does no harm.
redis.call('EXPIRE', KEYS[2], 60)
table.insert(waiting, 1, standing)
return waiting
